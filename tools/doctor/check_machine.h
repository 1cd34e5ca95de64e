// Checks what of this machine helps, hinders or breaks runs (trainer doctor; docs/doctor.md).
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include <spire/plan.h>
#include <spire/run_config.h>

#include "engine/run/machine/finding.h"
#include "tools/doctor/peer_copies.h"

namespace spire {

struct MachineCheck {
  // Its output folder's disk is tried; with `plan` its run is checked, too.
  RunConfig config;
  // Returns the plan of the config's run, or throws an Error, which becomes a finding. Null: there
  // is no such run.
  std::function<PlanReport()> plan = {};
  double copy_seconds = 5;  // after which a copy between GPUs counts as hung
  // Returns the copies with their outcomes. It tries them in child processes, as a copy may hang
  // for good. Null: the topic peer_copies is left out.
  std::function<std::vector<PeerCopy>(std::vector<PeerCopy>)> try_copies = {};
  std::function<void(std::string_view topic)> on_topic = {};  // before each check that takes time
};

// Returns the findings of all topics, in the order of docs/doctor.md. What cannot be checked is a
// finding of level fail. Blocks for seconds; starts CUDA in this process; any thread.
Findings check_machine(const MachineCheck& check);

}  // namespace spire
