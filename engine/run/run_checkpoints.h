// The checkpoints of a run: when one is due, how the trainer's state is captured for it, and what
// happens when writing fails. Retention is CheckpointStore's.
//
// A checkpoint has two steps. capture() fixes the state of the current step in the trainer; it is
// collective. save() submits the captured state to the writer's thread. An evaluation comes in
// between: it may fail for reasons that leave the training intact, and after a failure ranks do
// nothing collective any more; so the state is captured before it, and saved if it fails.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/run/run_context.h"
#include "engine/run/run_output.h"

namespace spire::inline run {

class RunCheckpoints {
 public:
  // Both outlive this.
  RunCheckpoints(RunContext& run, RunOutput& output);

  // The run continues from a checkpoint of its own directory, at progress.step. rewrite: an
  // evaluation of that step is due, and the checkpoint is written again with its result.
  void continue_from(const LoadedCheckpoint& checkpoint, bool rewrite);
  // Takes the output directory and starts the writer, on the rank that writes files.
  void open();

  // Whether an interval of the config ends at this step, or a lost directory makes one urgent.
  bool due() const;
  // A step begins: a state without a snapshot changes with it.
  void begin_step();
  void capture();
  // Captures and submits a checkpoint of this step; nothing where that is done. last: no step
  // follows, so that nothing has to wait for the file.
  void save(bool last = false);
  // Submits this captured state in the place of a checkpoint that failed and waits for a retry.
  void replace_failed();
  // Reports the attempts of the writer to the observer.
  void report();
  // Saves the last checkpoint and waits for it. Throws Error(checkpoint) if it cannot be written.
  void save_last();
  // Saves the state from before an evaluation that has failed, if it was captured; --resume auto
  // does that evaluation again. Comes before the other ranks hear of the failure, for then all have
  // to end soon.
  void save_after_failure();

  // Restores a lost output directory, see RunOutput. The weights are still in memory: a checkpoint
  // is due as soon as the ranks' agreement allows it.
  void restore_output();
  // Whether a checkpoint is due because the directory was lost.
  bool is_urgent() const { return urgent_; }

  const std::string& path() const { return path_; }  // of the newest on disk; empty: none
  int64_t written_step() const { return written_step_; }

 private:
  bool is_saved() const;
  bool is_captured() const;
  void submit_captured(bool last);
  void hand_to_writer(bool last);
  void fill(StateMetadata& state) const;
  void await_writer();
  void report_result(const CheckpointResult& result);

  RunContext& run_;
  RunOutput& output_;
  CheckpointStore store_;
  std::optional<CheckpointWriter> writer_;  // none on ranks that write no files

  int64_t captured_step_ = -1;  // of the state in the trainer; -1: none
  int64_t saved_step_ = 0;      // submitted
  int64_t written_step_ = 0;    // on disk
  bool urgent_ = false;
  std::string path_;
  double snapshot_ms_ = 0;  // that the step loop waited for the last checkpoint
};

}  // namespace spire::inline run
