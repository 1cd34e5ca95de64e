// Turns a failure on one rank into the failure of the run, the same on all ranks.
#pragma once
#include <spire/world.h>

namespace spire {

// Reports `error` to the other ranks and waits, a bounded time, for the failure that all ranks
// agree on. at: phase of the thread that caught it. In a run of one process an Error keeps its
// text.
Failure agree_on_failure(const std::exception& error, const PhaseRow& at, World& world);

inline Error to_error(const Failure& failure) {
  return {failure.category, failure.text};
}

}  // namespace spire
