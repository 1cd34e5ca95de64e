// Checks of the cores that this process may use: affinity, CPU quota, OMP_NUM_THREADS, what others
// use of them, and NUMA nodes with the GPUs that belong to them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/topology.h"
#include "engine/run/machine/finding.h"

namespace spire {

// Topics: affinity, cgroup_cpu, omp_num_threads.
Findings check_cores(const Topology& topology);

// others: how many of the cores other programs use; none: unknown. Topic: load.
Finding check_load(const Topology& topology, std::optional<double> others);

struct NumaNode {
  int number = 0;
  std::vector<int> cores;
  uint64_t memory_bytes = 0;
};

struct GpuOnNode {
  std::string name;  // "cuda:0", "GPU 3"
  int node = -1;     // -1: the firmware does not tell
};

struct Numa {
  std::vector<NumaNode> nodes;
  std::vector<GpuOnNode> gpus;
};

struct GpuAddress {
  std::string name, pci_bus_id;
};

// root: the folder that contains sys; tests have one of their own.
Numa read_numa(const std::vector<GpuAddress>& gpus, const std::filesystem::path& root = "/");

// cores: those that this process may use. Topic: numa.
Findings check_numa(const Numa& numa, const std::vector<int>& cores);

}  // namespace spire
