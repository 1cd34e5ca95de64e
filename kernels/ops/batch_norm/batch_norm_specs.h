// What the ops of batch normalization share: the checks of their inputs, and their fused forms.
#pragma once
#include "kernels/float_type.h"
#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire::inline kernels {

inline void expect_normalizable(const Op& op, const TensorSpec& x) {
  expect(op, is_float_type(x.dtype), "cannot compute on {}", to_string(x));
  expect(op, x.shape.rank() >= 2 && x.shape.back() > 0, "takes (N, ..., C), got {}", to_string(x));
}

inline void expect_like(const Op& op, const TensorSpec& got, const TensorSpec& want,
                        const char* what) {
  expect(op, got == want, "{} is {}, not {}", what, to_string(got), to_string(want));
}

inline TensorSpec channels_of(const TensorSpec& x) {
  return {{x.shape.back()}, DType::f32};
}

// The same attributes with a relu behind, null when there is one already.
template <typename SomeOp>
std::unique_ptr<Op> relu_form(BatchNormAttributes attributes) {
  if (attributes.relu) return nullptr;
  attributes.relu = true;
  return std::make_unique<SomeOp>(attributes);
}

template <typename SomeOp>
std::unique_ptr<Op> residual_form(BatchNormAttributes attributes) {
  if (attributes.relu || attributes.residual) return nullptr;
  attributes.relu = attributes.residual = true;
  return std::make_unique<SomeOp>(attributes);
}

}  // namespace spire::inline kernels
