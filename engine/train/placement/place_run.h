// One path from the config to devices, for every command.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/device/topology.h"
#include "engine/train/placement/idle_gpus.h"
#include "engine/train/placement/placement.h"
#include "engine/train/placement/rank_group.h"

namespace spire {

struct RunPlacement {
  Placement placement;
  std::vector<RankHardware> places;   // all ranks' cores and GPUs, shared out
  RankHardware own;                   // this process's of these
  std::string cores;                  // the use of cores in words, for the start report
  std::vector<std::string> warnings;  // of all ranks, about their GPUs
  // In the place of config.precision, where the devices do not compute in that; a warning says why.
  std::optional<RunConfig::Precision> precision = {};
};

// The choice of devices of all that computes: runs, evaluations, predictions. Chooses idle GPUs if
// `devices` is auto:N, prefers them where there are more GPUs than towers, places the towers on all
// ranks' devices, and claims this rank's GPUs; collective. Warns of GPUs that others use, too.
// kept_threads: tower_threads of a resumed checkpoint. Throws as place_towers() does, Error(device)
// if a device lacks the precision or too few GPUs are idle, and Error(interrupted) if the wait for
// them was given up.
RunPlacement place_run(const RunConfig& config, const RankGroup& ranks,
                       std::optional<int> kept_threads, const GpuQueue& queue);

// Pins the lanes to their cores if `pin` asks for it; collective. `locks` keeps the cores locked
// until it is destroyed. Appends the decision to `cores`, a text about the use of cores.
void pin_run(RunConfig::Pin pin, const RankGroup& ranks, const RankHardware& own,
             Placement& placement, std::string& cores, CoreLocks& locks);

}  // namespace spire
