// Phases of a run's threads: what a thread is doing, for messages, hooks and the watchdog.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include <spire/export.h>

namespace spire {

enum class Phase : uint8_t {
  idle,     // has nothing to do
  waiting,  // waits for other threads or ranks: never the cause of a stall
  start,
  data,
  forward,
  backward,
  bucket,  // sums or exchanges a bucket, a range of the gradient; detail: its index
  update,
  eval,
  device,  // waits for work that was given to a GPU
  checkpoint,
  setup,  // sets devices up and compiles for them
};
SPIRE_API std::string phase_text(Phase phase, int64_t detail);  // "forward", "bucket 3", "waiting"

// Phase of one thread at the time when it was read.
struct PhaseRow {
  std::string thread;  // "cpu:0", "cpu:1 lane 3", "exchange"
  Phase phase = Phase::idle;
  int64_t detail = 0;  // index of the bucket in Phase::bucket
  int64_t step = 0;    // step in progress, 1 for the first; 0 before it
  double seconds = 0;  // since the phase was entered
};
// Returns "backward of step 37", "waiting in step 37", or "start" before the first step.
SPIRE_API std::string position_text(const PhaseRow& row);

// Called on the thread that enters a phase. If it throws, the phase fails with that exception.
using PhaseHook = std::function<void(const PhaseRow& entered)>;

}  // namespace spire
