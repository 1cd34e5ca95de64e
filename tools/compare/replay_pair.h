// Two replays side by side, and the first tensor in which a step of them differs.
#pragma once
#include <bit>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/train/tensor_observer.h"
#include "tools/compare/replay.h"

namespace spire {

struct TensorDifference {
  int64_t step = 0;            // the weights after step - 1 are equal
  int tower = -1;              // -1: the tensor is of the state after the step
  std::string tensor = {};     // "conv2d of conv1", "gradient of fc1.weight, by matmul"
  std::string element = {};    // coordinates of the first that differs; empty: no element
  std::string a = {}, b = {};  // its values, or what there is in their place
  std::string note = {};       // what more is known: the sample in the row
};

inline bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Where a replay begins; hooks: see Replay.
struct ReplayStart {
  const RunConfig& config;
  std::optional<LoadedCheckpoint> from = {};
  ReplayHooks hooks = {};
};

// Returns the first place where a computed step differs from its record, in the order in which a
// step computes: samples, rate, losses of towers, gradient, weights; none if they agree. names: of
// the tensors that `weights` hash. confirmed: the step up to which the weights are known to be
// equal.
std::optional<TensorDifference> record_difference(const AuditRecord& recorded,
                                                  const AuditRecord& computed,
                                                  const std::vector<std::string>& names,
                                                  int64_t confirmed);

class ReplayPair {
 public:
  ReplayPair(const ReplayStart& a, const ReplayStart& b)
      : a_(a.config, a.from, a.hooks), b_(b.config, b.from, b.hooks) {}

  Replay& a() { return a_; }
  Replay& b() { return b_; }
  int64_t step() const { return a_.step(); }

  // Trains a step of both; returns whether they are still equal. `result`: A's.
  bool next(StepOutcome& result);
  std::optional<TensorDifference> state_difference();
  // Where the next step of both differs. REQUIRES: their states are equal.
  TensorDifference locate();

 private:
  using TensorRecords = std::vector<TensorRecord>;  // of a tower, in the order of its kernels

  std::optional<TensorDifference> sample_difference();
  std::optional<TensorDifference> tensor_difference();
  std::optional<TensorDifference> tensor_difference(int tower, const TensorRecords& ours,
                                                    const TensorRecords& theirs);
  // Of tensor number `index` of a tower, whose hashes differ.
  TensorDifference value_difference(int tower, size_t index, const TensorRecord& record);

  Replay a_, b_;
};

// Replays both from their starts to step - 1, and locates the difference in `step`. REQUIRES: their
// states are equal until then.
TensorDifference locate_difference(const ReplayStart& a, const ReplayStart& b, int64_t step);

// Replays both through `step`, and locates the first difference; none if they are equal.
std::optional<TensorDifference> compare_replays(const ReplayStart& a, const ReplayStart& b,
                                                int64_t step);

// Returns "step 3, tower 1: conv2d of conv1, element [0, 2] ((4, 8), f32)".
std::string place_text(const TensorDifference& difference);

}  // namespace spire
