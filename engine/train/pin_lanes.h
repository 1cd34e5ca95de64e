// Whether a CPU's lanes keep to cores of their own. That saves moves between cores where nobody
// else wants these, and halves the speed where somebody does: so it is done where the cores were
// given to this process (a cpuset, taskset, MPI's or Slurm's binding) and no other run has them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/topology.h"
#include "engine/train/placement.h"

namespace spire::inline training {

// pin: RunConfig::pin. place: this process's, as placed. Where lanes are to be pinned, their cores
// become those of Placement::lane_cores, which `locks` has from then on. Returns what was done and
// why: "not pinned: another Spire process has core 3". space: of CoreLocks.
std::string pin_lanes(const std::string& pin, const RankPlace& place, Placement& placement,
                      CoreLocks& locks, std::string_view space = "spire");

// Of a process: "4 of 16 (OMP_NUM_THREADS=4)".
std::string describe_use(const Placement& placement, const RankPlace& place);

// Of all ranks, by what each says: one line where they say the same, else a line a rank.
std::string describe_ranks(const std::vector<std::string>& texts);

}  // namespace spire::inline training
