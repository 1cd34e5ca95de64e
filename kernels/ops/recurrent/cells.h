// The cells of recurrent layers, for one unit in one step, on CPUs and GPUs: recurrent.h has the
// formulas.
#pragma once
#include <spire/tensor.h>

#include "kernels/elementary.h"
#include "kernels/ops/recurrent/recurrent.h"

namespace spire {

// h_t-1 and c_t-1 of a unit; c is an LSTM's alone.
struct CellState {
  float h = 0, c = 0;
};

// Gradients of what a unit reads: of the state before, apart from what reaches it through W, of x
// and of a.
template <int gates>
struct CellGradients {
  CellState before;
  float x[gates], a[gates];
};

struct LstmCell {
  static constexpr int gates = 4, saved = 5;  // i, f, g, o, and c behind them

  // x, a, keep: of the gates of one unit. Returns h_t.
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

  // gradient: of h_t, and of c_t by the step behind.
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
