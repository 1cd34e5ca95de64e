// The hardware that each process of a run may use: its host, cores, GPUs and limits.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/device/peer_access.h"
#include "engine/device/topology.h"

namespace spire::inline training {

struct RankPlace {
  std::string host;
  std::vector<int> cores;            // it may use
  std::vector<CudaDeviceInfo> gpus;  // it may use; of each index, name, uuid and total_bytes
  std::string why_no_gpu;            // where there are none
  PeerPairs peers = {};              // by index, of all that it sees
  int machine_cores = 0;             // online CPUs of its host; known of this process's alone
  // Of each of `gpus`, by its index, the cores of its NUMA node, where the system tells. Known of
  // this process's alone.
  std::map<int, std::vector<int>> near_gpu = {};
  CoreLimits limits = {};
  // Set by share_out(): all cores that the process may use, of which `cores` is its share, and the
  // number of threads that may compute on these. Empty and 0: `cores` and its size.
  std::vector<int> all_cores = {};
  int threads = 0;

  const std::vector<int>& allowed_cores() const { return all_cores.empty() ? cores : all_cores; }
  std::vector<int> cores_near(DeviceId gpu) const;  // of those that the process may use
  int max_threads() const { return threads > 0 ? threads : static_cast<int>(cores.size()); }
};

// Finds this process's hardware, as if no other process shared it.
RankPlace own_place();

// Divides a host's CPU quota among its ranks, cores among ranks that see the same ones, and GPUs
// likewise, each to one rank.
std::vector<RankPlace> share_out(std::vector<RankPlace> ranks);

// Encode this rank's limits and GPUs for the other ranks, and decode them.
std::string limits_to_text(const CoreLimits& limits);  // one line without its end
CoreLimits read_limits(const std::string& line);
std::string gpus_to_text(const RankPlace& place);
void read_gpus(const std::string& text, RankPlace& place);

// "cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)"
std::string list_gpus(const std::vector<CudaDeviceInfo>& gpus);

}  // namespace spire::inline training
