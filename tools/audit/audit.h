// Audits a run: checks the chain of its steps, and trains parts of it again (docs/audit.md).
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace spire {

struct AuditSegment {
  int64_t from = 0, to = 0;  // steps done: a checkpoint's, or 0; and the last to be replayed
};

// What a run has recorded, compared with itself.
struct RecordAudit {
  // Sentences about what does not fit: lines of the chain, values of metrics.jsonl and
  // summary.json, checkpoints.
  std::vector<std::string> problems;
  int64_t steps = 0, last = 0;           // recorded, and the last of them
  int64_t checkpoints = 0, metrics = 0;  // checkpoints and lines of metrics.jsonl that fit
  std::string chain;                     // its value after the last step; empty with problems
  // Recorded steps, from `from` + 1 on, that no replay reaches: those before the first checkpoint
  // of a run that went on in another directory, and those from a rollback to the next checkpoint.
  std::vector<AuditSegment> unreachable;
};

struct ReplayAudit {
  bool passed = false;  // all is equal to its record, to the last bit, and to its root
  std::string
      text;  // for people; if it has not passed, with the step, tower and tensor that differ
};

// Writes nothing. One thread at a time calls the methods of an object.
class AuditedRun {
 public:
  // Reads the run's records. overrides: config keys for the replays, such as "data.path=DIR". They
  // run on all devices here of the run's kind, unless one of these keys is `devices`. Throws
  // Error(config), Error(checkpoint).
  AuditedRun(const std::filesystem::path& directory, const std::vector<std::string>& overrides);
  ~AuditedRun();
  AuditedRun(AuditedRun&&) noexcept;
  AuditedRun& operator=(AuditedRun&&) noexcept;

  RecordAudit check() const;

  // from: a step, 0 or that of a checkpoint, or the path of a checkpoint. steps: the most to
  // replay; 0: to the end of the record, or to where the run rolled back. Throws Error(config).
  AuditSegment segment(const std::string& from, int64_t steps);
  // `count` segments, or all there are, from different checkpoints or the beginning to the next
  // one, chosen by the seed. steps: the most of each; 0: any. Throws Error(config) without any.
  std::vector<AuditSegment> random_segments(int64_t count, int64_t steps, uint64_t seed) const;

  // Trains the segment again. Throws what train() throws. Where check() has problems, a replay
  // proves nothing.
  ReplayAudit replay(AuditSegment segment) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire
