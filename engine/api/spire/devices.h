// The devices of this machine as they are now: also GPUs that this process may not use.
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
  int host_number = -1;   // nvidia-smi's; -1: a CPU, or unknown
  std::string name = {};  // "NVIDIA H200", "2 cores"; this and the next two are empty if unknown
  std::string uuid = {};
  std::string pci_bus_id = {};
  // Bytes: of a CPU the host's, or what its limits leave to this process; empty if unknown.
  std::optional<uint64_t> memory_total = {}, memory_used = {}, memory_free = {};
  std::optional<double> utilization = {};  // 0..1: of a GPU, where NVML tells it
  std::string problem = {};                // why it does not work; empty: it does
};

// Returns the CPU, then the GPUs that NVML lists, by nvidia-smi's number, then the MIG devices and
// GPUs that only CUDA shows. Starts CUDA in this process, which may take seconds. Never throws for
// GPUs that are missing or fail.
SPIRE_API std::vector<ListedDevice> list_devices();

}  // namespace spire
