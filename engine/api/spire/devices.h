// Lists the devices of this machine with their present state, even GPUs that this process may not
// use.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/export.h>

namespace spire {

struct ListedDevice {
  // The name in a config: "cpu" or "cuda:1". Empty if CUDA does not show this GPU to the process
  // (CUDA_VISIBLE_DEVICES), or only a MIG part of it.
  std::string id = {};
  int host_number = -1;   // index in nvidia-smi; -1: a CPU, or unknown
  std::string name = {};  // "NVIDIA H200", "2 cores"; this and the next two are empty if unknown
  std::string uuid = {};
  std::string pci_bus_id = {};
  // Bytes. Of a CPU: the host's memory, or the part that limits (cgroup) allow this process. Empty
  // if unknown.
  std::optional<uint64_t> memory_total = {}, memory_used = {}, memory_free = {};
  std::optional<double> utilization = {};  // 0..1; only of a GPU, if NVML reports it
  std::string problem = {};                // why it cannot be used; empty: it works
};

// Returns the CPU, then the GPUs that NVML lists, in nvidia-smi's order, then the MIG devices and
// GPUs that only CUDA shows. Starts CUDA in this process, which may take seconds. A missing or
// failing GPU never makes it throw.
SPIRE_API std::vector<ListedDevice> list_devices();

}  // namespace spire
