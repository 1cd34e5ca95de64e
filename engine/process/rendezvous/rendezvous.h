// Joins the processes of a run: a full mesh of data connections, and control links to rank 0.
#pragma once
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire {

struct RendezvousResult {
  std::vector<RankInfo> ranks;
  std::vector<ControlLink> links;  // this rank's control links
  std::vector<Socket> data;        // one socket per rank, empty for this rank
};

// Joins at rank 0's endpoint, without MPI. Throws as join_world() does. If rank 0 fails, all ranks
// that have joined throw its error.
RendezvousResult join_at_master(const Launch& launch, const RankInfo& self, double start_seconds);

// Joins over a group that connects the ranks already: makes only control links, `data` stays empty.
// Collective. The group carries the run's secret, so only the run's ranks may be in it. Throws
// PeerLost, and rank 0's error on all ranks.
RendezvousResult join_over_group(ProcessGroup& group, const RankInfo& self, double start_seconds);

}  // namespace spire
