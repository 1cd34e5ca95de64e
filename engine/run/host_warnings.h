// What a user should know of the machine before a run, and the environment of NCCL and CUDA.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/run/machine/limits.h"
#include "engine/run/machine/run_checks.h"
#include "engine/run/run_setup.h"

namespace spire {

// What the checkpoints of a run take on its disk.
// floats: all numbers that the weights have. frozen: how many of these are frozen, and so have no
// slots and no average. steps: of the whole run. Weights, slots of the optimizer and averages
// count; so do the newest checkpoints, the best one and those that keep_every_steps keeps, less
// what the output folder already has of them. Throws Error(checkpoint) if that folder cannot be
// listed.
CheckpointNeed checkpoint_need(const RunConfig& config, int64_t floats, int64_t frozen,
                               int64_t steps);

// writes: whether this run writes checkpoints.
RunUse use_of(const RunSetup& setup, const ParameterLayout& layout, bool writes);

// Warns of what the doctor's short form (engine/run/machine/run_checks.h) finds on each host of the
// run; rank 0 prints it. Collective: the first rank of each host looks.
void warn_of_machine(const RunSetup& setup, const ParameterLayout& layout, bool writes,
                     Observer& observer);

struct HostWarnings {
  std::string host;
  std::vector<std::string> texts;
};
// Returns each text once, in the order of the hosts; where there are several, behind the names of
// those that have it: "node1, node2: /dev/shm has ...".
std::vector<std::string> merge_by_host(std::span<const HostWarnings> hosts);

// The same for a run; collective. look: returns the texts of this host; the first rank of each host
// calls it. The result is rank 0's; other ranks get none.
std::vector<std::string> gather_by_host(const RankGroup& ranks,
                                        const std::function<std::vector<std::string>()>& look);

// For runs on GPUs: notes the variables of NCCL and CUDA that are set, and NCCL's files.
void note_environment(const RunSetup& setup, Observer& observer);

}  // namespace spire
