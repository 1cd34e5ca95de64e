// Defaults of ops and helpers of their shape inference.
#include <spire/kernel.h>
#include <spire/op.h>

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

size_t TensorSpec::bytes() const {
  // A padded row has row_pitch elements instead of the last dimension.
  int64_t elements = shape.elements();
  if (row_pitch > 0) elements = elements / shape.back() * row_pitch;
  return static_cast<size_t>(elements) * size_of(dtype);
}

std::string to_string(const TensorSpec& spec) {
  return fmt::format("{} {}", to_string(spec.dtype), to_string(spec.shape));
}

Kernel Op::make_kernel(const KernelRequest&) const {
  return {};
}

void Op::gradient(GradientBuilder&) const {
  fail(
      Category::config,
      "[{}] has no gradient, so parameters before it cannot be trained; remove it, or put it first",
      name());
}

void expect(const Op& op, bool holds, const std::string& message) {
  if (!holds) fail(Category::config, "[{}] {}", op.name(), message);
}

void expect_inputs(const Op& op, TensorSpecs inputs, size_t least, size_t most) {
  // The message has one number where that is exact.
  bool fits = inputs.size() >= least && inputs.size() <= most;
  if (least == most) {
    expect(op, fits, "takes {} inputs, got {}", least, inputs.size());
  } else {
    expect(op, fits, "takes {} to {} inputs, got {}", least, most, inputs.size());
  }
}

void expect_rows(const Op& op, const TensorSpec& x) {
  expect(op, x.shape.rank() >= 1 && x.shape.elements() > 0 && is_float_type(x.dtype),
         "takes an input (.., C) of fp32, bf16 or fp16, got {}", to_string(x));
}

void expect_like(const Op& op, const TensorSpec& got, const TensorSpec& want, const char* what) {
  expect(op, got == want, "{} must be {}, got {}", what, to_string(want), to_string(got));
}

void expect_taken(const Op& op, const TensorSpec& got, const TensorSpec& want, const char* what) {
  expect(op, got == want, "takes {} {}, got {}", what, to_string(want), to_string(got));
}

void set_gradients(GradientBuilder& builder, std::span<const Value> gradients, int first) {
  for (Value gradient : gradients) {
    if (builder.wants_gradient(first)) builder.set_gradient(first, gradient);
    ++first;
  }
}

TensorSpec per_channel(const TensorSpec& x) {
  return {{x.shape.back()}, DType::f32};
}

}  // namespace spire
