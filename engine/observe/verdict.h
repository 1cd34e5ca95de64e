// The verdict on a finished run: what its time went into, and what to do about it, in plain words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <spire/observer.h>

#include "engine/observe/device_history.h"

namespace spire {

// The least numbers for a line of the verdict; docs/metrics.md names them, too. (Those for
// stragglers are in device_watch.h, those for a load in engine/base/crowded.h.) With fewer steps
// there is no verdict; with fewer seconds of readings no line about what was read.
inline constexpr int64_t verdict_steps = 50;
inline constexpr double verdict_seconds = 10;        // of readings of a device's state
inline constexpr double load_seconds = 2;            // of readings of what others use
inline constexpr double input_bound_share = 0.10;    // of a step that waits for data
inline constexpr double communication_share = 0.10;  // of a step that waits for messages
inline constexpr double lane_wait_share = 0.10;      // of a step in which lanes wait for each other
inline constexpr double idle_share = 0.30;           // of the time without work on a device
inline constexpr double throttled_share = 0.05;      // of the time at a lowered clock

struct RunNumbers {
  StepTimes times;                  // RunSummary::times
  int64_t data_workers = 0;         // data.workers
  std::vector<DeviceLabel> labels;  // of the run's devices
  size_t first = 0, end = 0;        // [first, end): this process's, whose lanes measured `times`
  int threads = 0, cores = 0;       // CPUs: threads that compute, and their cores; GPUs: 0
};

// history: of the same steps as `times`. Returns no lines for a run that is too short. If nothing
// else stands out, returns the share of computing: "compute-bound 93 %: ...".
std::vector<std::string> verdict(const RunNumbers& run, const DeviceHistory& history);

}  // namespace spire
