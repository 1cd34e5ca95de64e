// Hardware that each process of a run may use, and the devices that the run chooses from it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/device.h"
#include "engine/device/topology.h"

namespace spire::inline training {

struct RankHardware {
  std::string host;
  std::vector<int> cores;            // it may use
  std::vector<CudaDeviceInfo> gpus;  // it may use; of each index, name, uuid and total_bytes
  std::string why_no_gpu;            // where there are none
  PeerPairs peers = {};              // by index, of all that it sees
  int machine_cores = 0;             // online CPUs of its host; known of this process alone
  std::map<int, std::vector<int>> near_gpu = {};  // by index: cores of its NUMA node; as above
  CoreLimits limits = {};
  std::vector<int> all_cores = {};  // by share_out(): `cores` is the process's share of them
  int threads = 0;                  // by share_out(): may compute on `cores`; 0: one a core

  const std::vector<int>& allowed_cores() const { return all_cores.empty() ? cores : all_cores; }
  std::vector<int> cores_near(DeviceId gpu) const;  // of those that the process may use
  int max_threads() const { return threads > 0 ? threads : static_cast<int>(cores.size()); }
};

// Finds this process's hardware, as if no other process shared it.
RankHardware local_hardware();

// Divides a host's CPU quota among its ranks, cores among ranks that see the same ones, and GPUs
// likewise, each to one rank.
std::vector<RankHardware> share_out(std::vector<RankHardware> ranks);

// Encode this rank's limits and GPUs for the other ranks, and decode them.
std::string limits_to_text(const CoreLimits& limits);  // one line without its end
CoreLimits read_limits(const std::string& line);
std::string gpus_to_text(const RankHardware& hardware);
void read_gpus(const std::string& text, RankHardware& hardware);

// Returns "cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)".
std::string list_gpus(const std::vector<CudaDeviceInfo>& gpus);

struct ChosenDevices {
  std::vector<std::vector<DeviceId>> devices;  // of each rank; a member's are neighbours
  std::vector<std::vector<std::vector<DeviceId>>> members;  // of each rank: each one's devices
  std::string note;  // what `auto` chose and why; empty when all was named
};

// Chooses by config.devices and groups by config.cuda.peer. Throws Error(device) for devices that
// are missing or that cuda.peer: direct cannot connect; Error(config) for two kinds of devices.
ChosenDevices choose_devices(const RunConfig& config, const std::vector<RankHardware>& ranks);

// Groups a process's devices into members, which read each other's memory: CPUs are one, as are
// GPUs that all have peer access; a GPU without it is one with all its logical devices.
std::vector<std::vector<DeviceId>> group_peers(const std::vector<DeviceId>& devices,
                                               const PeerPairs& peers, CudaConfig::Peer peer);

// Describes how GPUs exchange data, and why; empty for CPUs.
std::string describe_exchange(const std::vector<std::vector<std::vector<DeviceId>>>& members,
                              CudaConfig::Peer peer);

}  // namespace spire::inline training
