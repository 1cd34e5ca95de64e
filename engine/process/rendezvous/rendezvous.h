// Joins the processes of a run into a full mesh of data connections and a star of control links.
#pragma once
#include <string>
#include <vector>

#include <spire/launch.h>
#include <spire/world.h>

#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire::inline process {

struct RendezvousResult {
  std::vector<RankInfo> ranks;
  std::vector<ControlLink> links;  // this rank's arms of the star around rank 0
  std::vector<Socket> data;        // to each other rank by rank, empty for itself
};

// Joins without MPI. Throws as join_world(); all that have joined throw rank 0's error.
RendezvousResult join_at_master(const Launch& launch, const RankInfo& self, double start_seconds);

// Joins over a group that already connects the ranks: makes only the star, `data` stays empty.
RendezvousResult join_over_group(ProcessGroup& group, const RankInfo& self, double start_seconds);

}  // namespace spire::inline process
