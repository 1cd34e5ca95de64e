// How the processes of a run find each other.
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
  std::vector<ControlLink> links;  // this rank's part of the star around rank 0
  std::vector<Socket> data;        // to each other rank by rank, empty for itself
};

// Without MPI: rank 0 listens, the others come to it (meeting_place.h), and then each rank connects
// to all lower ones. Both ends of each connection prove that they know the run's secret before they
// tell anything (handshake.h); who does not is turned away, and changes nothing. Errors as
// join_world(); when rank 0 finds one, it tells it to all who came, so that all end with the same
// words.
RendezvousResult meet_at_master(const Launch& launch, const RankInfo& self, double start_seconds);

// Over a group that talks already: only the star is to be made, with a secret that the group
// carries; `data` stays empty.
RendezvousResult meet_through(ProcessGroup& group, const RankInfo& self, double start_seconds);

}  // namespace spire::inline process
