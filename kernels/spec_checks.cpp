// Checks of shapes and dtypes that several ops make.
#include "kernels/spec_checks.h"

#include <spire/op_checks.h>

namespace spire {

void expect_rows(const Op& op, const TensorSpec& x) {
  expect(op, x.shape.rank() >= 1 && x.shape.elements() > 0 && is_float_type(x.dtype),
         "takes an input (.., C) of fp32, bf16 or fp16, got {}", to_string(x));
}

void expect_like(const Op& op, const TensorSpec& got, const TensorSpec& want, const char* what) {
  expect(op, got == want, "{} must be {}, got {}", what, to_string(want), to_string(got));
}

TensorSpec per_channel(const TensorSpec& x) {
  return {{x.shape.back()}, DType::f32};
}

}  // namespace spire
