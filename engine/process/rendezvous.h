// How the processes of a run find each other.
#pragma once
#include <string>
#include <vector>

#include <spire/process/launch.h>
#include <spire/process/world.h>

namespace spire {

struct Meeting {
  std::vector<RankInfo> ranks;
  std::vector<ControlLink> links;  // this rank's part of the star around rank 0
  std::vector<Socket> data;        // to each other rank by rank, empty for itself
};

// Without MPI: rank 0 listens on launch.master_port, the others come to launch.master_address, and
// then each rank connects to all lower ones. Errors as join_world(); when rank 0 finds one, it
// tells it to all who came, so that all end with the same words.
Meeting meet_at_master(const Launch& launch, const RankInfo& self, double start_seconds);

// Over a group that talks already: only the star is to be made; `data` stays empty.
Meeting meet_through(ProcessGroup& group, const RankInfo& self, double start_seconds);

}  // namespace spire
