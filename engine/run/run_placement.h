// The places of a run's towers: devices and cores of all ranks, shared out and, where it pays,
// pinned.
#pragma once
#include <optional>
#include <string>

#include "engine/device/topology.h"
#include "engine/run/rank_group.h"
#include "engine/train/placement.h"

namespace spire::inline run {

struct RunPlacement {
  Placement placement;
  RankHardware own;   // this process's cores and GPUs
  std::string cores;  // the use of cores in words, for the start report
};

// Places the towers on the devices of all ranks, on all ranks together. kept_threads: the
// tower_threads of the checkpoint that the run resumes from. Throws Error(config) and
// Error(device) as place_towers() does, and where a device does not compute in the precision.
RunPlacement place_run(const RunConfig& config, const RankGroup& ranks,
                       std::optional<int> kept_threads);

// Pins the lanes to their cores where `pin` asks for it, until `locks` is destroyed; all ranks
// together. Adds the result to `cores`, the use of cores in words.
void pin_run(RunConfig::Pin pin, const RankGroup& ranks, const RankHardware& own,
             Placement& placement, std::string& cores, CoreLocks& locks);

}  // namespace spire::inline run
