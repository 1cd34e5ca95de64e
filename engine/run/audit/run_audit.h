// Keeps the chain of a run while it trains: on rank 0, from its root on, a line a step.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/data/loader.h"
#include "engine/run/audit/audit_record.h"
#include "engine/run/run_setup.h"
#include "engine/train/tower_trainer.h"

namespace spire {

// Used on the leading lane's thread, by all ranks alike. Without audit.chain, in a dry run, and on
// other ranks than 0, it keeps nothing, and its texts are empty.
class RunAudit {
 public:
  RunAudit(const RunSetup& setup, TowerTrainer& trainer);  // both outlive this

  // Begins at the root, or goes on from the resumed checkpoint; the weights are those of `step`.
  // Throws Error(data).
  void start(int64_t step);
  // Lines for audit.jsonl that start() made. goes_on(): they follow the lines that the file has;
  // false: the file begins with them.
  const std::string& first_lines() const { return first_lines_; }
  bool goes_on() const { return goes_on_; }
  const std::string& data_warning() const { return data_warning_; }  // changed_data(), or ""

  // Whether the weights are hashed after this step; the same on all ranks.
  bool weights_due(int64_t step) const;
  // Stores which samples a step has. Call it when the step has begun; two may be under way.
  void take_batch(int64_t step, const BatchLoader& data, const Batch& batch);
  // Makes the line() of a step that has ended. left_out: see AuditRecord.
  void take(const StepOutcome& result, bool left_out);

  std::string_view line() const { return line_; }  // of the newest step, with a newline
  const std::string& value() const { return state_.value; }
  std::string text() const { return state_.text(); }  // for checkpoints

 private:
  bool keeps() const {
    return setup_.config.audit.chain && setup_.saves && setup_.ranks.is_first();
  }
  void add_root(int64_t step, const std::string& root);

  const RunSetup& setup_;
  TowerTrainer& trainer_;
  int64_t weights_every_;
  ChainState state_;
  std::string first_lines_, data_warning_, line_;
  AuditRecord record_;  // of the newest step
  bool goes_on_ = false;
  std::array<uint64_t, 2> samples_{};  // samples_hash() of the newest two steps, by step % 2
};

}  // namespace spire
