// Looks kernels up in the device's table and makes them. No op falls back to another device: that
// would hide a slow run, so it is an error.
#include "kernels/kernel.h"

#include <algorithm>

#include <spire/packing.h>

#include "engine/base/fail.h"

namespace spire {

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

Kernel Kernel::reading(std::vector<Packing> packings) && {
  packings_ = std::make_shared<const std::vector<Packing>>(std::move(packings));
  return std::move(*this);
}

const std::vector<Packing>& Kernel::packings() const {
  static const std::vector<Packing> none;
  return packings_ ? *packings_ : none;
}

const KernelEntry& kernel_entry(const Op& op, DeviceId device) {
  const KernelEntry* row = find_row(op, device);
  if (!row) fail(Category::device, "[{}] has no kernel for {}", op.name(), to_string(device));
  return *row;
}

PaddedRows padded_rows(const Op& op, DeviceId device) {
  const KernelEntry* row = device.kind == DeviceKind::cuda ? find_row(op, device) : nullptr;
  return row ? row->padded_rows : PaddedRows{};
}

Kernel make_kernel(const Op& op, const KernelRequest& request) {
  if (Kernel own = op.make_kernel(request)) return own;
  const KernelEntry& row = kernel_entry(op, request.device);
  check_padded_rows(op, padded_rows(op, request.device), request);
  return row.make(op, request);
}

}  // namespace spire
