// Who hosts what: devices, their lanes, and the towers of each lane. Only this knows hardware; what
// a tower computes does not depend on it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <spire/collective/tree.h>
#include <spire/config/run_config.h>
#include <spire/device/lane_team.h>
#include <spire/device/topology.h>

namespace spire {

struct PlacedDevice {
  DeviceId id;
  std::string description;  // "2 cores: 0-1"
  TowerRange towers;
  int first_lane = 0, lanes = 0;
};

struct Placement {
  std::vector<PlacedDevice> devices;  // in tower order
  std::vector<LaneSpec> lanes;        // in tower order; a device's lanes are neighbours
  std::vector<TowerRange> lane_towers;
  std::vector<int> lane_device;  // index into devices
  int towers = 1, tower_threads = 1;
  int64_t batch_size = 1;    // samples a tower a step
  int parameter_device = 0;  // index into devices
  std::string note;          // what `auto` chose and why; empty when all was named

  int64_t global_batch() const { return batch_size * towers; }
};

// kept_tower_threads: of the checkpoint that the run resumes, if it does.
// Throws Error(device) for a device that this machine or build lacks, Error(config) when batch
// sizes, towers and devices do not fit, or tower_threads differs from the kept one.
Placement place_towers(const RunConfig& config, const Topology& topology, const CudaStatus& cuda,
                       std::optional<int> kept_tower_threads = {});

// One line: what stays the same on other devices.
std::string guarantee(const Placement& placement);

std::string describe_cores(const std::vector<int>& cores);  // "4 cores: 0-2,5"

}  // namespace spire
