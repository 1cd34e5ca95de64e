// Compares the numbers that a run has recorded beside its chain with what a replay computes.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/observe/metrics_lines.h"
#include "tools/audit/check_numbers.h"
#include "tools/compare/replay.h"
#include "tools/compare/replay_pair.h"

namespace spire {

class RecordedNumbers {
 public:
  // Lines of metrics.jsonl, which outlive it.
  explicit RecordedNumbers(const std::vector<MetricsLine>& lines) : lines_(index_of(lines)) {}

  const MetricsIndex& index() const { return lines_; }

  // Of the step that the replay has trained last, whose outcome is `record`: training, validation
  // and test. last: the last step of the run, whose evaluation may be missing.
  std::optional<TensorDifference> difference(Replay& replay, const AuditRecord& record,
                                             int64_t last) const;

 private:
  const MetricsLine* find(MetricsLine::Kind kind, int64_t step) const;
  std::optional<TensorDifference> train_difference(Replay& replay, const AuditRecord& record) const;
  std::optional<TensorDifference> evaluation_difference(Replay& replay, MetricsLine::Kind kind,
                                                        bool due) const;

  MetricsIndex lines_;
};

// What a checkpoint says beside its tensors, its evaluations and the chain.
std::optional<TensorDifference> metadata_difference(const StateMetadata& saved, Replay& replay);

}  // namespace spire
