// Dropout (Srivastava et al., 2014): y = x * keep / (1 - rate), each element kept with probability
// 1 - rate. x (N, ...) is fp32, bf16 or fp16. Random numbers depend on seed, step, op, row in the
// global batch and index in the row, not on the device; the backward draws them again.
#pragma once
#include <spire/random_stream.h>

#include "kernels/kernel.h"

namespace spire {

struct DropoutAttributes {
  float rate = 0.5f;     // in [0, 1)
  bool training = true;  // false: y is x, as a view
};

// inputs: x. outputs: y; key, shape (1), i32: the op's dropout_key. The backward op, whose id is
// another one, reads it to draw the same numbers.
class DropoutOp : public OpWith<DropoutAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "dropout"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool is_view() const override { return !attributes_.training; }
  bool may_overwrite(int) const override { return true; }
};

// Spec of the key, an output of ops that drop.
TensorSpec dropout_key_spec();

// inputs: dy, key. outputs: dx = dy * keep / (1 - rate).
class DropoutBackwardOp : public OpWith<DropoutAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "dropout_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

// Returns the key by which an op of this id draws: the id. Throws Error(config) for an id above
// 2^16 - 1, as its random stream would be that of another op in another step.
int32_t dropout_key(const Op& op, int op_id);

// Returns the random stream of a row. Element i is kept if its bits(i) >= dropout_threshold(rate).
constexpr RandomStream dropout_stream(const StepContext& step, int32_t key, int64_t row) {
  uint64_t draw = static_cast<uint64_t>(step.step) << 16 | static_cast<uint64_t>(key);
  return {step.seed, Purpose::dropout, draw, static_cast<uint64_t>(step.first_row + row)};
}
constexpr uint32_t dropout_threshold(float rate) {
  return static_cast<uint32_t>(static_cast<double>(rate) * 0x1p32);
}

}  // namespace spire
