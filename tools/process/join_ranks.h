// How a process of the program takes part in a run of several.
#pragma once
#include <memory>

#include <spire/run_config.h>
#include <spire/world.h>

namespace spire {

// Ends the process with the failure on stderr. For one of whose threads hangs: no other thread can
// end that one.
[[noreturn]] void end_process(const Failure& failure);

// Joins the other ranks; returns null for a run of one process. Throws as join_world() does.
std::unique_ptr<World> join_ranks(const Launch& launch, const RunConfig& config);

}  // namespace spire
