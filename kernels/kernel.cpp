#include <spire/kernels/kernel.h>

#include <algorithm>

namespace spire {

std::unique_ptr<Kernel> make_kernel(const Op& op, const KernelRequest& request) {
  auto table = request.device.kind == DeviceKind::cuda ? cuda_kernels() : cpu_kernels();
  auto row = std::find_if(table.begin(), table.end(),
                          [&](const KernelEntry& entry) { return entry.op == op.name(); });
  if (row == table.end()) {
    fail(Category::device, "[{}] has no kernel for {}", op.name(), to_string(request.device));
  }
  return row->make(op, request);
}

}  // namespace spire
