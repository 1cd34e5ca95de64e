// What a user should know of the machine before a run, as the short form of the doctor finds it,
// and the environment of NCCL and CUDA.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/device/topology.h"
#include "engine/run/machine/finding.h"
#include "engine/run/machine/limits.h"
#include "engine/run/run_setup.h"

namespace spire {

// The short form of the doctor, before a run: what of the machine matters for this run. Reads a few
// small files of the kernel and no device.

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

// Returns only what a user should hear of: findings of level warn or fail. Does not check what the
// report at the run's start shows anyway.
Findings check_run(const RunUse& use, const RunMachine& machine);

// Returns what the checkpoints of a run take on its disk. floats: number of weights. frozen: how
// many of these are frozen, and so have no slots and no average. steps: of the whole run. A
// checkpoint has weights, optimizer slots and averages; kept are the newest, the best one and those
// of keep_every_steps. Throws Error(checkpoint) if the output folder cannot be listed.
CheckpointNeed checkpoint_need(const RunConfig& config, int64_t floats, int64_t frozen,
                               int64_t steps);

// Returns what the run takes of this host. writes: whether it writes checkpoints.
RunUse use_of(const RunSetup& setup, const ParameterLayout& layout, bool writes);

// Warns of what the doctor's short form (check_run()) finds on each host of the
// run. Collective: the first rank of each host looks, rank 0 warns.
void warn_of_machine(const RunSetup& setup, const ParameterLayout& layout, bool writes,
                     Observer& observer);

struct HostWarnings {
  std::string host;
  std::vector<std::string> texts;
};
// Returns each text once, in the order of the hosts. With several hosts the names of those that
// have it stand before it: "node1, node2: /dev/shm has ...".
std::vector<std::string> merge_by_host(std::span<const HostWarnings> hosts);

// The same for a run; collective. look: returns the texts of this host; the first rank of each host
// calls it. The result is rank 0's; other ranks get none.
std::vector<std::string> gather_by_host(const RankGroup& ranks,
                                        const std::function<std::vector<std::string>()>& look);

// For runs on GPUs: notes the variables of NCCL and CUDA that are set, and the configuration files
// that NCCL reads (nccl.conf).
void note_environment(const RunSetup& setup, Observer& observer);

}  // namespace spire
