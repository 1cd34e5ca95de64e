// Checkpoints of a run: when one is due, and the two steps of each.
// capture() fixes the state of the current step in the trainer; it is collective. save() submits
// the captured state to the writer's thread. An evaluation comes in between: where it fails, the
// state from before it is saved.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/run/run_context.h"
#include "engine/run/run_directory.h"

namespace spire::inline run {

class RunCheckpoints {
 public:
  RunCheckpoints(RunContext& run, RunOutput& output);  // both outlive this

  // Continues from a checkpoint of the run's own directory, at progress.step. rewrite: it is
  // written again, with the result of an evaluation that is due.
  void continue_from(const LoadedCheckpoint& checkpoint, bool rewrite);
  void open();  // takes the output directory, starts the writer; on the rank that writes files

  bool due() const;   // an interval of the config ends at this step, or the directory was lost
  void begin_step();  // forgets a captured state without a snapshot: the step changes it
  void capture();
  // Captures and submits a checkpoint of this step, once. last: no step follows that would wait.
  void save(bool last = false);
  void replace_failed();  // submits the captured state instead of one that waits for a retry
  void report();          // reports the writer's attempts to the observer
  void save_last();       // saves and waits; throws Error(checkpoint) if it cannot be written
  // Saves the state from before an evaluation that has failed, if it was captured. Call it before
  // the other ranks learn of the failure.
  void save_after_failure();

  void restore_output();                      // if the directory was lost; a checkpoint is then due
  bool is_urgent() const { return urgent_; }  // due because the directory was lost

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
  double snapshot_ms_ = 0;  // time that the step loop waited for the last checkpoint
};

}  // namespace spire::inline run
