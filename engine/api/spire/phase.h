// Phases of a run's threads, as messages, hooks and the watchdog name them.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace spire {

enum class Phase : uint8_t {
  idle,     // nothing to do
  waiting,  // for other threads or ranks: never the cause of a stall
  start,
  data,
  forward,
  backward,
  bucket,  // detail: its index
  update,
  eval,
  device,  // the host waits for what it gave a GPU
  checkpoint,
};
std::string phase_text(Phase phase, int64_t detail);  // "forward", "bucket 3", "waiting"

// One thread's phase, at the time it was read.
struct PhaseRow {
  std::string thread;  // "cpu:0", "cpu:1 lane 3", "exchange"
  Phase phase = Phase::idle;
  int64_t detail = 0;
  int64_t step = 0;    // the step under way, 1 for the first; 0 before it
  double seconds = 0;  // since the phase was entered
};
// "backward of step 37", "waiting in step 37"; "start" before the first.
std::string position_text(const PhaseRow& row);

// Called by a thread as it enters a phase; an exception it throws fails that phase.
using PhaseHook = std::function<void(const PhaseRow& entered)>;

}  // namespace spire
