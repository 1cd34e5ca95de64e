#include "kernels/kernel_table.h"

namespace spire {

namespace {

template <typename SomeOp>
struct OnCuda {
  static Kernel make(const Op& op, const KernelRequest& request) {
    return make_cuda(static_cast<const SomeOp&>(op), request);
  }
};

}  // namespace

std::span<const KernelEntry> cuda_kernels() {
  return kernel_table<OnCuda>();
}

}  // namespace spire
