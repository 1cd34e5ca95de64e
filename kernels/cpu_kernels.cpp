#include "kernels/kernel_table.h"

namespace spire {

namespace {

template <typename SomeOp>
struct OnCpu {
  static Kernel make(const Op& op, const KernelRequest& request) {
    return make_cpu(static_cast<const SomeOp&>(op), request);
  }
};

}  // namespace

std::span<const KernelEntry> cpu_kernels() {
  return kernel_table<OnCpu>();
}

}  // namespace spire
