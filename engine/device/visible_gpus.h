// What CUDA_VISIBLE_DEVICES makes of a host's GPUs: which of them CUDA shows, in which order (CUDA
// C++ Programming Guide, "CUDA Environment Variables"; MIG User Guide, "CUDA Device Enumeration").
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/nvml/gpu_monitor.h"

namespace spire {

struct VisibleGpus {
  std::vector<std::string> uuids;  // of the GPUs or the MIG device that CUDA shows, in its order
  std::string warning;             // about the entry at which the list ends early; else empty
};

// Returns the GPUs that CUDA counts, in the order given: all that work, except those in MIG mode
// without a MIG device.
std::vector<HostGpu> gpus_counted_by_cuda(std::span<const HostGpu> gpus);

// Used beside CUDA's own list: finds the UUID of the MIG device that CUDA shows, and the entries
// that CUDA ignores. value: that of CUDA_VISIBLE_DEVICES; nullopt: it is not set, and CUDA shows
// all GPUs. gpus: the result of gpus_counted_by_cuda(). An empty value or -1 shows no GPU. Else the
// value lists indices into `gpus`, UUIDs or unambiguous beginnings of UUIDs, and the list ends
// before the first entry that names no GPU, several GPUs, or one that was listed before. A GPU in
// MIG mode stands for its first MIG device. CUDA shows at most one MIG device to a process, and no
// GPU beside it.
VisibleGpus visible_gpus(const std::optional<std::string>& value, std::span<const HostGpu> gpus);

}  // namespace spire
