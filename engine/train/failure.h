// What becomes of a failure on one rank: the failure of the run.
#pragma once
#include <spire/phase.h>
#include <spire/world.h>

namespace spire::inline training {

// Tells the other ranks of `error` and waits, a bounded time, for what all agree on. at: what the
// thread that it reached was doing, for messages that do not say so themselves. An exception that
// is no Error counts as a lost rank. In a run of one process an Error stays as it is.
Failure settle_failure(const std::exception& error, const PhaseRow& at, World& world);

inline Error to_error(const Failure& failure) {
  return {failure.category, failure.text};
}

}  // namespace spire::inline training
