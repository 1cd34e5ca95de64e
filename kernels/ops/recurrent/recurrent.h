// Recurrent layers over sequences, behind the product of their inputs: LSTM (Hochreiter,
// Schmidhuber, "Long short-term memory", 1997, with forget gates) and GRU (Cho et al. 2014, in the
// form of PyTorch and cuDNN, which resets behind the product). With h_-1 = c_-1 = 0, for each step
// t of a sample, a = W h_t-1 + b and the input's share x_t, in PyTorch's order of gates:
//   LSTM  i, f, o = sigmoid(x + a), g = tanh(x + a)    c_t = f c_t-1 + i g    h_t = o tanh(c_t)
//   GRU   r, z = sigmoid(x + a), n = tanh(x_n + r a_n)                  h_t = (1 - z) n + z h_t-1
// x (N, T, G H) and y = h (N, T, H) are fp32, bf16 or fp16; w (G H, H) and b (G H) are fp32
// parameters; G is 4 (i, f, g, o) for an LSTM and 3 (r, z, n) for a GRU. Computed in fp32; h_t-1 is
// read as y has it. Gradients run back through all steps (backpropagation through time).
#pragma once
#include <spire/op.h>

namespace spire {

enum class RecurrentCell : uint8_t { lstm, gru };

// Gates of a cell, and numbers that the backward reads for each unit and step (cells.h).
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
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, y, saved, w. outputs: dx, the gradient da of a (both as x), and y one step earlier
// (N, T, H), zeros in the first: the gradients of w and b are those of a dense layer of these two.
class RecurrentBackwardOp : public OpWith<RecurrentAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override;  // lstm_backward, gru_backward
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;
};

// Extents that a kernel reads of the shapes of x and y.
struct RecurrentExtents {
  int64_t samples, steps, units, columns;  // N, T, H, G H
};
inline RecurrentExtents recurrent_extents(const Shape& x, const Shape& y) {
  return {y[0], y[1], y[2], x[2]};
}

}  // namespace spire
