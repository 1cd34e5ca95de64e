// Rotary position embedding (Su et al., "RoFormer: Enhanced Transformer with Rotary Position
// Embedding", 2021). In each of the first `heads` heads of a row, of D columns each, column i < D /
// 2 and column i + D / 2 are a pair (a, b), which turns by the angle of its position t:
//   angle = t theta^(-2 i / D)
//   a' = a cos(angle) - b sin(angle)    b' = b cos(angle) + a sin(angle)
// Columns behind these heads stay as they are. (Hugging Face's models pair columns this way; the
// paper pairs neighbours.) The gradient turns back. x, y (N, T, C) are fp32, bf16 or fp16; angles
// are computed in fp64, the rest in fp32. Positions are 0 to T - 1, or given for each row.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

#include <spire/op.h>

namespace spire {

struct RopeAttributes {
  int64_t heads = 1, size = 2;  // H and D of the heads that turn, the first H D of C columns
  double theta = 10000;
  bool inverse = false;     // turns back, by -angle
  bool positioned = false;  // each row has its position, in a second input
};

// inputs: x [, positioned: positions (N, T) i32]. outputs: y, of x's shape and dtype.
class RopeOp : public OpWith<RopeAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "rope"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

struct Rotation {
  float cosine, sine;
};

// The rotation of each position and pair. Host and device share the code, which is free of the long
// reductions that sin() of any angle needs.
class RopeAngles {
 public:
  explicit RopeAngles(const RopeAttributes& attributes)
      : step_(-2 * std::log(attributes.theta) / static_cast<double>(attributes.size)),
        turn_((attributes.inverse ? -0.5 : 0.5) * std::numbers::inv_pi) {}

  SPIRE_HOST_DEVICE Rotation at(int64_t position, int64_t pair) const {
    double turns =
        static_cast<double>(position) * std::exp(step_ * static_cast<double>(pair)) * turn_;
    // The nearest quarter of a turn, and what is left: at most pi / 4.
    auto quarter = static_cast<int64_t>(4 * turns + (turns < 0 ? -0.5 : 0.5));
    double left = (turns - 0.25 * static_cast<double>(quarter)) * (2 * std::numbers::pi);
    auto s = static_cast<float>(sine_of(left)), c = static_cast<float>(cosine_of(left));
    float cosine = quarter % 2 == 0 ? c : s, sine = quarter % 2 == 0 ? s : c;
    bool minus_sine = (quarter & 3) >= 2, minus_cosine = (quarter & 3) == 1 || (quarter & 3) == 2;
    return {minus_cosine ? -cosine : cosine, minus_sine ? -sine : sine};
  }

 private:
  // Taylor's series for |x| <= pi / 4; the terms left out are below 1e-10.
  SPIRE_HOST_DEVICE static double sine_of(double x) {
    double z = x * x;
    double p = z * (-1.0 / 39916800) + 1.0 / 362880;
    p = ((p * z - 1.0 / 5040) * z + 1.0 / 120) * z - 1.0 / 6;
    return x + x * z * p;
  }
  SPIRE_HOST_DEVICE static double cosine_of(double x) {
    double z = x * x;
    double p = z * (1.0 / 479001600) - 1.0 / 3628800;
    p = (((p * z + 1.0 / 40320) * z - 1.0 / 720) * z + 1.0 / 24) * z - 0.5;
    return 1 + z * p;
  }

  double step_, turn_;  // turns per radian, negative to turn back
};

}  // namespace spire
