// Hardware that each process of a run may use, and the devices that the run chooses from it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/device.h"
#include "engine/device/topology.h"
#include "engine/train/placement/gpu_use.h"

namespace spire {

struct RankHardware {
  std::string host;
  std::vector<int> cores;  // cores that the process may use
  // GPUs that the process may use. Entries that were sent between ranks (gpus_to_text()) lack
  // `ordinal` and compute capability.
  std::vector<CudaDeviceInfo> gpus;
  std::string why_no_gpu;                  // empty if there are GPUs
  std::vector<std::string> warnings = {};  // of this process only: what is wrong with its GPUs
  // What others do on these GPUs, by index; empty if NVML cannot be asked, and for CPUs. Entries
  // that were sent between ranks have only `works`, `percent`, `free` and whether `busy` is empty.
  std::map<int, GpuUse> use = {};
  int spare = 0;         // on the first of its SharedGpus::ranks: GPUs that are left out
  PeerPairs peers = {};  // pairs of GPU indices with peer access, of all GPUs that it sees
  // The next two are set for this process only, not received from other ranks.
  int machine_cores = 0;                          // online CPUs of the host
  std::map<int, std::vector<int>> near_gpu = {};  // GPU index -> cores of the GPU's NUMA node
  CoreLimits limits = {};
  // share_out() sets the next two.
  std::vector<int> all_cores = {};  // cores of all processes that share them; `cores` is a part
  int threads = 0;  // number of threads that may compute on `cores`; 0: one per core

  const std::vector<int>& allowed_cores() const { return all_cores.empty() ? cores : all_cores; }
  std::vector<int> cores_near(DeviceId gpu) const;  // among allowed_cores()
  int max_threads() const { return threads > 0 ? threads : static_cast<int>(cores.size()); }
};

RankHardware local_hardware();  // this process's, as if no other process shared it

// Divides the CPU quota of a host among its ranks. Ranks of a host that see the same cores get
// equal shares of them; likewise with GPUs, each of which goes to one rank.
std::vector<RankHardware> share_out(std::vector<RankHardware> ranks);

// Ranks that have the same GPUs, and how many of these the run keeps. gives_up_some: not all.
struct SharedGpus {
  std::vector<size_t> ranks;
  int count = 0;
  bool gives_up_some = false;
};
// If config.devices is auto or cuda and the ranks have more GPUs than the run has towers: says
// which ranks keep how many, together as many as there are towers. The host with most GPUs beyond
// one per rank gives up GPUs first; each rank keeps at least one. Returns an empty list if all GPUs
// are kept, as always without config.towers.
std::vector<SharedGpus> kept_gpus(const RunConfig& config, const std::vector<RankHardware>& ranks);

// Removes GPUs from `ranks` until as many are left as kept_gpus() says; keeps the least loaded
// ones, by the use that the first of the ranks with these GPUs has seen. Call it before
// share_out().
void leave_spare_gpus(const RunConfig& config, std::vector<RankHardware>& ranks);

// Returns the indices of a rank's GPUs, the least loaded first.
std::vector<int> by_load(const RankHardware& hardware);

// Encode this rank's limits and GPUs for the other ranks, and decode them.
std::string limits_to_text(const CoreLimits& limits);  // one line, without the newline
CoreLimits read_limits(const std::string& line);
std::string gpus_to_text(const RankHardware& hardware);
void read_gpus(const std::string& text, RankHardware& hardware);

// Returns "cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)".
std::string list_gpus(const std::vector<CudaDeviceInfo>& gpus);

// Returns the GPUs that a name in a config means (config/devices.h): one, none, or several if it is
// the beginning of several UUIDs.
std::vector<DeviceId> named_gpus(const std::string& word, const std::vector<CudaDeviceInfo>& gpus);

struct ChosenDevices {
  std::vector<std::vector<DeviceId>> devices;  // per rank; the devices of a member are adjacent
  std::vector<std::vector<std::vector<DeviceId>>> members;  // members[rank][member]: its devices
  // Per rank: two of its GPUs that do not read each other's memory; no value: all do.
  std::vector<std::optional<std::pair<DeviceId, DeviceId>>> without_access;
  bool fell_back = false;  // CPUs stand in for missing GPUs (on_missing: cpu)
  int wanted = 0;  // number of devices that the config asks for, of all ranks; some may be missing
  std::string note;  // what `auto` or on_missing chose, and why; empty if it is what was named
};

// Chooses by config.devices, config.on_missing and config.cuda.peer, and groups each rank's devices
// into members: its CPU devices are one; a GPU is one, with all logical devices on it where it is
// named several times. With auto:N `ranks` must have only the GPUs that were chosen (idle_gpus.h).
// Throws Error(device) for devices that are missing or that cuda.peer: direct cannot connect;
// Error(config) for CPUs and GPUs mixed, and for a UUID that is cut too short.
ChosenDevices choose_devices(const RunConfig& config, const std::vector<RankHardware>& ranks);

// Describes how GPUs exchange data, and why; "" for CPUs and for a single GPU.
std::string describe_exchange(const ChosenDevices& chosen, CudaConfig::Peer peer);

}  // namespace spire
