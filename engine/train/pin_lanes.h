// Pins a CPU's lanes to cores. Pinning saves migrations on cores that no other process uses, and
// halves the speed on cores that one does. So lanes are pinned only where the cores were given to
// this process (a cpuset, taskset, MPI's or Slurm's binding) and no other run has locked them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/core_locks.h"
#include "engine/train/placement.h"

namespace spire::inline training {

// Decides by RunConfig::pin and the process's cores; pinned lanes get Placement::lane_cores, which
// `locks` holds from then on. Returns the decision and its reason: "not pinned: another Spire
// process has core 3". space: namespace of CoreLocks.
std::string pin_lanes(RunConfig::Pin asked, const RankPlace& place, Placement& placement,
                      CoreLocks& locks, std::string_view space = "spire");

// Describes a process's use of cores: "4 of 16 (OMP_NUM_THREADS=4)".
std::string describe_use(const Placement& placement, const RankPlace& place);

// Joins the ranks' descriptions: one line where they are equal, else a line a rank.
std::string describe_ranks(const std::vector<std::string>& texts);

}  // namespace spire::inline training
