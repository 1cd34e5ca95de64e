// The CPU cores this process may use, and how they are divided among CPU devices and lanes.
#pragma once
#include <vector>

#include <spire/device/device.h>

namespace spire {

struct Topology {
  std::vector<int> cores;  // logical CPU numbers: the affinity mask, cut to the cgroup's CPU quota
  int online = 0;          // CPUs of the machine
  double quota = 0.0;      // cgroup limit in CPUs; 0: none
};
Topology discover_topology();

// Cores of CPU device `index` of `count`: contiguous shares, the first ones larger by one when they
// do not divide. With more devices than cores, devices share cores.
std::vector<int> cores_of_device(const std::vector<int>& cores, int index, int count);

}  // namespace spire
