// Looks kernels up in the device's table and makes them. No op falls back to another device: that
// would hide a slow run, so it is an error.
#include "kernels/kernel.h"

#include <algorithm>

#include <spire/error.h>
#include <spire/packing.h>

namespace spire::inline kernels {

namespace {

// The pass that pads rows asks only for what the table allows; this catches a mistake in it, as a
// kernel that knows of no padding would read it as values.
void check_padded_rows(const Op& op, const PaddedRows& takes, const KernelRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i)
    require(request.inputs[i].row_pitch == 0 || static_cast<int>(i) == takes.input,
            "[{}] does not take padded rows of input {}", op.name(), i);
  for (size_t i = 0; i < request.outputs.size(); ++i)
    require(request.outputs[i].row_pitch == 0 || (i == 0 && takes.output),
            "[{}] does not make padded rows of output {}", op.name(), i);
}

const KernelEntry* find_row(const Op& op, DeviceId device) {
  auto table = device.kind == DeviceKind::cuda ? cuda_kernels() : cpu_kernels();
  auto row = std::find_if(table.begin(), table.end(),
                          [&](const KernelEntry& entry) { return entry.op == op.name(); });
  return row == table.end() ? nullptr : &*row;
}

}  // namespace

std::vector<Packing> Kernel::packings() const {
  return {};
}

const KernelEntry& kernel_entry(const Op& op, DeviceId device) {
  const KernelEntry* row = find_row(op, device);
  if (!row) fail(Category::device, "[{}] has no kernel for {}", op.name(), to_string(device));
  return *row;
}

PaddedRows padded_rows(const Op& op, DeviceId device) {
  const KernelEntry* row = find_row(op, device);
  return row ? row->padded_rows : PaddedRows{};
}

std::unique_ptr<Kernel> make_kernel(const Op& op, const KernelRequest& request) {
  if (std::unique_ptr<Kernel> own = op.make_kernel(request)) return own;
  const KernelEntry& row = kernel_entry(op, request.device);
  check_padded_rows(op, row.padded_rows, request);
  return row.make(op, request);
}

}  // namespace spire::inline kernels
