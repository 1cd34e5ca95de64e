// Audits a run (docs/audit.md): checks the chain of its steps, replays parts of it on the devices
// that are here, and compares each step with its record in the chain.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/observe/json_lines.h"
#include "engine/run/audit/audit_root.h"
#include "tools/audit/audit_log.h"
#include "tools/audit/check_run.h"
#include "tools/compare/compare_runs.h"
#include "tools/compare/replay.h"
#include "tools/compare/replay_pair.h"

namespace spire {

// Compares the numbers that a run has recorded outside its chain with what a replay computes.
class RecordedNumbers {
 public:
  // lines: of metrics.jsonl; they must outlive this object.
  explicit RecordedNumbers(const std::vector<MetricsLine>& lines) : lines_(index_of(lines)) {}

  const MetricsIndex& index() const { return lines_; }

  // Returns the first difference in the numbers (training, validation, test) of the step that the
  // replay has trained last; none if they agree. record: the replay's, of that step. last: the last
  // step of the run, whose evaluation may be missing.
  std::optional<TensorDifference> difference(Replay& replay, const AuditRecord& record,
                                             int64_t last) const;

 private:
  const MetricsLine* find(MetricsLine::Kind kind, int64_t step) const;
  std::optional<TensorDifference> train_difference(Replay& replay, const AuditRecord& record) const;
  std::optional<TensorDifference> evaluation_difference(Replay& replay, MetricsLine::Kind kind,
                                                        bool due) const;

  MetricsIndex lines_;
};

// Returns the first difference in a checkpoint's metadata, evaluations and the chain excluded.
std::optional<TensorDifference> metadata_difference(const StateMetadata& saved, Replay& replay);

struct AuditSegment {
  int64_t from = 0, to = 0;  // steps done at its start (a checkpoint's, or 0) and end
};

struct SegmentAudit {
  AuditSegment segment = {};  // as far as it was replayed
  RootCheck root = {};        // what differs here from the roots that it passed
  // Between the run (a) and the replay (b); none: all is equal.
  std::optional<TensorDifference> difference = {};
  // Where two further replays, made if `difference` is set, differ. None: they agree, so the run's
  // record or checkpoint is at fault. Else this machine is not reproducible.
  std::optional<TensorDifference> replays = {};
  bool passed() const { return !difference && !root.other_run; }
};

// Returns the hooks of a replay of an audit: replay 0 is compared with the record, 1 and 2 with
// each other.
using AuditHooks = std::function<ReplayHooks(int replay)>;

// Writes no files. Used by one thread at a time.
class RunAuditor {
 public:
  // overrides: config keys for the replays. Unless they set `devices`, replays run on all devices
  // of this machine that are of the run's kind. Throws Error(config), Error(checkpoint).
  RunAuditor(const std::filesystem::path& directory, const std::vector<std::string>& overrides);
  RunAuditor(const RunAuditor&) = delete;
  RunAuditor& operator=(const RunAuditor&) = delete;

  const AuditLog& log() const { return log_; }
  RunCheck check() const { return check_run(log_, run_, lines_, numbers_.index()); }
  // Returns the recorded steps that no replay can reach: those before the first checkpoint here of
  // a run that was resumed from another directory, and those from a rollback to the next
  // checkpoint.
  std::vector<AuditSegment> unreachable() const;

  // Returns the segment that begins at `from`: 0, the step of a checkpoint, or the path of one.
  // steps: the most to replay; 0: to the end of the record, or to where the run rolled back. Throws
  // Error(config).
  AuditSegment segment(const std::string& from, int64_t steps);
  // Returns `count` segments chosen by the seed, or all if there are fewer; each goes from a
  // different checkpoint (or the beginning) to the next. steps: the most of each; 0: no limit.
  // Throws Error(config) if there is no segment.
  std::vector<AuditSegment> random_segments(int64_t count, int64_t steps, uint64_t seed) const;

  // Replays a segment and compares it with the record. Throws what a replay throws.
  SegmentAudit audit(AuditSegment segment, const AuditHooks& hooks = {}) const;

 private:
  std::vector<int64_t> starts() const;
  bool rolled_back(int64_t step) const;
  int64_t end_of_replay(int64_t from) const;
  RunConfig config_of(int64_t from) const;
  void check_start(Replay& replay, SegmentAudit& audit) const;
  void replay(Replay& replay, int64_t end, SegmentAudit& audit) const;
  std::optional<TensorDifference> step_difference(Replay& replay, const AuditRecord& recorded,
                                                  int64_t confirmed) const;
  std::optional<TensorDifference> root_difference(Replay& replay) const;
  std::optional<TensorDifference> checkpoint_difference(Replay& replay) const;

  std::vector<std::string> overrides_;
  RunRecords run_;
  AuditLog log_;
  std::vector<MetricsLine> lines_;  // of metrics.jsonl
  RecordedNumbers numbers_;
  std::vector<int64_t> rollbacks_;  // steps from which the run went back, ascending
};

std::string to_text(const SegmentAudit& audit);  // one or more lines

}  // namespace spire
