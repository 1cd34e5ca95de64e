// The short form of the doctor, before a run: what of the machine matters for this run. Reads a few
// small files of the kernel and no device.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/topology.h"
#include "engine/run/machine/finding.h"
#include "engine/run/machine/limits.h"

namespace spire {

struct RunUse {              // what a run takes of this host
  int gpus_by_nccl = 0;      // GPUs here that exchange data by NCCL
  bool networked = false;    // several processes
  int cpu_threads = 0;       // of all processes here that compute on CPUs; 0: the run is on GPUs
  bool widens_bf16 = false;  // computes bf16 on CPUs without instructions for it
  std::filesystem::path output;
  std::optional<CheckpointNeed> checkpoints;  // none: it writes nothing
  std::vector<std::string> compiled_gpus;     // GPUs whose driver compiles the kernels: no binary
};

struct RunMachine {
  Topology topology;  // as the run's placement has read it
  ProcessLimits limits;
  SwapState swap;
  std::optional<FileSystemSpace> disk;  // of RunUse::output
};

// Reads only what matters for this use. root: the folder that contains dev, proc and sys; tests
// replace it.
RunMachine read_run_machine(const RunUse& use, Topology topology,
                            const std::filesystem::path& root = "/");

// Returns only what a user should hear of: findings of level warn or fail, without those that the
// start block shows anyway.
Findings check_run(const RunUse& use, const RunMachine& machine);

}  // namespace spire
