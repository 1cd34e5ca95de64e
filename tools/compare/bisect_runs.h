// Finds the first tensor in which two runs differ, by a replay of both from their last common
// checkpoint: step by step, then within the first step that differs kernel by kernel.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tools/compare/compare_runs.h"
#include "tools/compare/replay_pair.h"

namespace spire {

struct Bisection {
  int64_t from = 0;  // step of the common checkpoint; 0: both were replayed from their beginning
  int64_t to = 0;    // last step that was replayed
  std::optional<TensorDifference> difference;
  // Where a run's own record is not what its config computes (memory or a file was damaged, or the
  // run is of another machine): which run, and where. Replays are equal up to there.
  std::string deviation;
};

// Both runs train in this process, on the devices of their configs. Throws what train() throws.
Bisection bisect(const RunRecords& a, const RunRecords& b);

std::string to_text(const Bisection& bisection);  // several lines

}  // namespace spire
