// Assembles a rank's World from its parts.
#pragma once
#include <memory>
#include <vector>

#include <spire/world.h>

#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire::inline process {

// launch: the rank's place; ranks: all of the run; group: its messages; links: its control
// connections, a star around rank 0.
std::unique_ptr<World> assemble_world(const Launch& launch, std::vector<RankInfo> ranks,
                                      std::unique_ptr<ProcessGroup> group,
                                      std::vector<ControlLink> links, const JoinOptions& options);

}  // namespace spire::inline process
