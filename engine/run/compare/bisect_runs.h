// Finds the first tensor in which two runs differ, by a replay of both from their last common
// checkpoint: step by step, then within the first step that differs kernel by kernel.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "engine/run/compare/compare_runs.h"
#include "engine/run/compare/replay.h"

namespace spire::inline run {

struct TensorDifference {
  int64_t step = 0;            // the weights after step - 1 are equal
  int tower = -1;              // -1: the tensor is no tower's, but one of the state after the step
  std::string tensor = {};     // "conv2d of conv1", "gradient of fc1.weight, by matmul"
  std::string element = {};    // coordinates of the first that differs; empty: none compare
  std::string a = {}, b = {};  // its values, or what there is in their place
  std::string note = {};       // what more is known: the sample in the row
};

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

}  // namespace spire::inline run
