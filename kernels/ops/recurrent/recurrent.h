// Recurrent layers over sequences, after the dense layer that makes x from the inputs: LSTM
// (Hochreiter, Schmidhuber, "Long short-term memory", 1997, with forget gates) and GRU (Cho et al.
// 2014, in the form of PyTorch and cuDNN, which applies the reset gate after the product). With
// h_-1 = c_-1 = 0, for each step t of a sample, a = W h_t-1 + b and the input's share x_t, in
// PyTorch's order of gates:
//   LSTM  i, f, o = sigmoid(x + a), g = tanh(x + a)    c_t = f c_t-1 + i g    h_t = o tanh(c_t)
//   GRU   r, z = sigmoid(x + a), n = tanh(x_n + r a_n)                  h_t = (1 - z) n + z h_t-1
// x (N, T, G H) and y = h (N, T, H) are fp32, bf16 or fp16; w (G H, H) and b (G H) are fp32
// parameters; G is 4 (i, f, g, o) for an LSTM and 3 (r, z, n) for a GRU. Computed in fp32; h_t-1 is
// read from y, in y's dtype. Gradients run back through all steps (backpropagation through time).
#pragma once
#include <spire/op.h>

#include "kernels/elementary.h"

namespace spire {

enum class RecurrentCell : uint8_t { lstm, gru };

// Gates of a cell (G), and numbers that the forward saves for the backward per unit and step (S).
constexpr int64_t gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? 4 : 3;
}
constexpr int64_t saved_of(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? 5 : 4;
}

struct RecurrentAttributes {
  RecurrentCell cell = RecurrentCell::lstm;
};

// inputs: x, w, b. outputs: y, and saved (N, T, S, H) fp32 for the backward.
class RecurrentOp : public OpWith<RecurrentAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override;  // lstm, gru
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, y, saved, w. outputs: dx, the gradient da of a (both like x), and y shifted by one
// step (N, T, H), with zeros in the first step: the gradients of w and b are those of a dense layer
// with this input and da as dy.
class RecurrentBackwardOp : public OpWith<RecurrentAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override;  // lstm_backward, gru_backward
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
};

// Extents that a kernel reads of the shapes of x and y.
struct RecurrentExtents {
  int64_t samples, steps, units, columns;  // N, T, H, G H
};
inline RecurrentExtents recurrent_extents(const Shape& x, const Shape& y) {
  return {y[0], y[1], y[2], x[2]};
}

// The cells, for one unit in one step, on CPUs and GPUs.

// h_t-1 and c_t-1 of a unit; c is an LSTM's alone.
struct CellState {
  float h = 0, c = 0;
};

// Gradients of what a unit reads: of the state before (without the part through W), of x and of a.
template <int gates>
struct CellGradients {
  CellState before;
  float x[gates], a[gates];
};

struct LstmCell {
  static constexpr int gates = 4, saved = 5;  // i, f, g, o, and c behind them

  // x, a: of the gates of one unit. keep: receives what the backward reads. Returns h_t.
  SPIRE_HOST_DEVICE static float forward(const float (&x)[gates], const float (&a)[gates],
                                         const CellState& before, float (&keep)[saved]) {
    keep[0] = logistic(x[0] + a[0]);
    keep[1] = logistic(x[1] + a[1]);
    keep[2] = hyperbolic_tangent(x[2] + a[2]);
    keep[3] = logistic(x[3] + a[3]);
    keep[4] = keep[1] * before.c + keep[0] * keep[2];
    return keep[3] * hyperbolic_tangent(keep[4]);
  }

  SPIRE_HOST_DEVICE static float cell(const float (&kept)[saved]) { return kept[4]; }

  // gradient: of h_t, and the part of c_t's gradient that comes from step t + 1.
  SPIRE_HOST_DEVICE static CellGradients<gates> backward(const float (&kept)[saved],
                                                         const CellState& before,
                                                         const CellState& gradient) {
    float i = kept[0], f = kept[1], g = kept[2], o = kept[3],
          squashed = hyperbolic_tangent(kept[4]);
    float dc = gradient.c + gradient.h * o * (1 - squashed * squashed);
    CellGradients<gates> result;
    result.before = {0, dc * f};
    result.x[0] = result.a[0] = dc * g * i * (1 - i);
    result.x[1] = result.a[1] = dc * before.c * f * (1 - f);
    result.x[2] = result.a[2] = dc * i * (1 - g * g);
    result.x[3] = result.a[3] = gradient.h * squashed * o * (1 - o);
    return result;
  }
};

struct GruCell {
  static constexpr int gates = 3, saved = 4;  // r, z, n, and a_n behind them

  SPIRE_HOST_DEVICE static float forward(const float (&x)[gates], const float (&a)[gates],
                                         const CellState& before, float (&keep)[saved]) {
    keep[0] = logistic(x[0] + a[0]);
    keep[1] = logistic(x[1] + a[1]);
    keep[2] = hyperbolic_tangent(x[2] + keep[0] * a[2]);
    keep[3] = a[2];
    return (1 - keep[1]) * keep[2] + keep[1] * before.h;
  }

  SPIRE_HOST_DEVICE static float cell(const float (&)[saved]) { return 0; }

  SPIRE_HOST_DEVICE static CellGradients<gates> backward(const float (&kept)[saved],
                                                         const CellState& before,
                                                         const CellState& gradient) {
    float r = kept[0], z = kept[1], n = kept[2];
    float dn = gradient.h * (1 - z) * (1 - n * n);
    CellGradients<gates> result;
    result.before = {gradient.h * z, 0};
    result.x[0] = result.a[0] = dn * kept[3] * r * (1 - r);
    result.x[1] = result.a[1] = gradient.h * (before.h - n) * z * (1 - z);
    result.x[2] = dn;
    result.a[2] = dn * r;
    return result;
  }
};

// Returns visit(LstmCell{}) or visit(GruCell{}).
template <typename Visit>
auto with_cell(RecurrentCell cell, const Visit& visit) {
  return cell == RecurrentCell::lstm ? visit(LstmCell{}) : visit(GruCell{});
}

}  // namespace spire
