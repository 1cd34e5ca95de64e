// Makes the checkpoints of a run when they are due, each in two steps. capture(), which is
// collective, fixes the present state in the trainer; save() submits it to the thread that writes
// files. An evaluation may come in between: if it fails, the state from before it is saved.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/run/run_context.h"
#include "engine/run/run_directory.h"

namespace spire {

// Returns the newest step before `step` at which an interval of the config ended; 0: there is none.
// It does not depend on when the run was stopped and resumed.
int64_t regular_checkpoint_before(const CheckpointConfig& config, int64_t steps_per_epoch,
                                  int64_t step);

class RunCheckpoints {
 public:
  RunCheckpoints(RunContext& run, RunOutput& output);  // both outlive this

  // Continues from a checkpoint in the run's own directory, of step progress.step. rewrite: it is
  // written again, with the result of an evaluation that is still due.
  void continue_from(const LoadedCheckpoint& checkpoint, bool rewrite);
  // Takes the output directory and starts the writer. Only the rank that writes files calls it.
  void open();

  bool due() const;   // whether an interval of the config ends at this step, or is_urgent()
  void begin_step();  // forgets the captured state if there is no snapshot, as the step changes it
  void capture();
  // Captures and submits a checkpoint of this step, unless that was done before. last: no step
  // follows, so that a write without a snapshot need not be waited for.
  void save(bool last = false);
  // If an earlier write failed and waits for a retry, submits the captured state in its place.
  void replace_failed();
  // regular_checkpoint_before() of this run; 0 in a dry run.
  int64_t regular_before(int64_t step) const;
  // Reads the checkpoint of that step, after the writer has ended its work; collective. Only rank 0
  // gets tensors. Throws Error(checkpoint).
  LoadedCheckpoint load(int64_t step);
  // The same for the checkpoint of the best evaluation. nullopt if that is of the present step, or
  // if this run's directory has no intact one.
  std::optional<LoadedCheckpoint> load_best();
  void report();     // reports the writer's finished attempts to the observer
  void save_last();  // saves and waits; throws Error(checkpoint) if it cannot be written
  // After a failed evaluation, before other ranks learn of it: saves the state captured before it.
  void save_after_failure();

  void restore_output();                      // if the output directory was lost: makes it again
  bool is_urgent() const { return urgent_; }  // due because the directory was lost

  const std::string& path() const { return path_; }  // the newest on disk; empty if none
  int64_t written_step() const { return written_step_; }

 private:
  bool is_saved() const;
  bool is_captured() const;
  void submit_captured(bool last);
  void hand_to_writer(bool last);
  void fill(StateMetadata& state) const;
  void await_writer();
  void warn_of_others() const;
  void take_best();
  void share(LoadedCheckpoint& loaded) const;
  std::optional<LoadedCheckpoint> best_here() const;
  void report_result(const CheckpointResult& result);

  RunContext& run_;
  RunOutput& output_;
  CheckpointStore store_;
  std::optional<CheckpointWriter> writer_;  // none on ranks that write no files

  int64_t captured_step_ = -1;  // step of the captured state; -1 if none
  int64_t saved_step_ = 0;      // step of the newest submitted
  int64_t written_step_ = 0;    // step of the newest on disk
  bool urgent_ = false;
  std::string path_;
  double snapshot_ms_ = 0;  // time that the step loop waited for the last checkpoint
};

}  // namespace spire
