// The kernel is that of conv2d's data gradient, whose dy is our x and whose dx is our y.
#include "kernels/ops/conv_transpose2d/conv_transpose2d.h"

namespace spire::inline kernels {

std::unique_ptr<Kernel> make_conv_transpose2d_cpu(const Op& op, const KernelRequest& request) {
  const auto& attributes = static_cast<const ConvTranspose2dOp&>(op).attributes();
  Conv2dBackwardDataOp same(attributes.convolution(), request.outputs[0]);
  return make_conv2d_backward_data_cpu(same, request);
}

}  // namespace spire::inline kernels
