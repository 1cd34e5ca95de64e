// The hardware that a process of a run may use, and what a run makes of it.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <spire/run_config.h>

namespace spire {

struct RankHardware;

struct GpuInfo {  // a GPU as the driver describes it
  int index = 0;  // the N of cuda:N
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  int compute_major = 0, compute_minor = 0;  // compute capability
  size_t total_bytes = 0;
};

// Returns "cuda:1 (NVIDIA H200, GPU-1b2c3d4e-..., PCI 0000:3b:00.0)".
std::string describe(const GpuInfo& gpu);

// Returns the indices of the GPUs that a name in a config means (devices.h): one,
// none, or several that have the beginning of a UUID in common.
std::vector<int> named_gpus(const std::string& word, const std::vector<GpuInfo>& gpus);

// The towers and threads that a new run takes where its config leaves them open.
struct ChosenTowers {
  int towers = 1, tower_threads = 1;
};

// What was found at one moment. Copies share it; any threads may use it at once.
class ProcessHardware {
 public:
  // Looks at what this process may use, as if no other process shared it. Starts CUDA in this
  // process. Never throws for GPUs that are missing or fail.
  ProcessHardware();

  std::vector<int> cores() const;  // logical CPUs
  std::vector<GpuInfo> gpus() const;
  std::string why_no_gpu() const;  // empty if there are GPUs

  // processes: of the run, on this host. Throws Error(device) for devices that are missing,
  // Error(config) for numbers that do not fit, and for processes < 1.
  ChosenTowers choose_towers(const RunConfig& config, int processes) const;

 private:
  std::shared_ptr<const RankHardware> found_;
};

}  // namespace spire
