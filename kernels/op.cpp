#include <spire/kernels/op.h>

namespace spire {

std::string to_string(const TensorSpec& spec) {
  return fmt::format("{} {}", name(spec.dtype), to_string(spec.shape));
}

void Op::gradient(GradientBuilder&) const {
  fail(Category::config, "[{}] has no gradient; a parameter or input before it cannot be trained",
       name());
}

void expect_inputs(const Op& op, std::span<const TensorSpec> inputs, size_t least, size_t most) {
  bool fits = inputs.size() >= least && inputs.size() <= most;
  if (least == most) {
    expect(op, fits, "takes {} inputs, got {}", least, inputs.size());
  } else {
    expect(op, fits, "takes {} to {} inputs, got {}", least, most, inputs.size());
  }
}

}  // namespace spire
