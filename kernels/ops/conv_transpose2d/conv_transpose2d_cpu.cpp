// The kernel is that of conv2d's data gradient, whose dy is our x and whose dx is our y.
#include "kernels/kernel.h"
#include "kernels/ops/conv_transpose2d/conv_transpose2d.h"

namespace spire::inline kernels {

template <>
std::unique_ptr<Kernel> make_cpu(const ConvTranspose2dOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  Conv2dBackwardDataOp same(attributes.convolution(), request.outputs[0]);
  return make_cpu(same, request);
}

}  // namespace spire::inline kernels
