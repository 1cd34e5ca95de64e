// Trains a run again in this process, step by step, without an output directory: from a checkpoint
// or from its beginning. It computes the bits of the run.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>
#include <spire/train.h>

#include "engine/data/loader.h"
#include "engine/optim/schedule.h"
#include "engine/run/audit/audit_record.h"
#include "engine/run/guard.h"
#include "engine/run/run_setup.h"
#include "engine/train/tower_trainer.h"

namespace spire::inline run {

// How a program takes part in replays. Tests make a replay faulty: on a CPU an observer sees the
// tensors where they lie, before the next kernel reads them.
struct ReplayHooks {
  TensorObserver* observer = nullptr;  // of all tensors, those of inspected steps too
  // After each step, and once before the first. done: number of steps.
  std::function<void(int64_t done, TowerTrainer&)> after_step = {};
};

class Replay {
 public:
  // checkpoint: where it begins; none: at step 0. Throws what train() throws.
  Replay(const RunConfig& config, const std::optional<std::filesystem::path>& checkpoint,
         const ReplayHooks& hooks = {});
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  int64_t step() const { return step_; }  // steps done
  int64_t towers() const { return setup_->placement.towers; }
  // Trains a step. Throws Error(config) where the run rolled back, as it left out earlier samples.
  StepOutcome next();
  // The same; returns what the run's chain records of it, and the hashes of the weights if asked.
  AuditRecord next_record(bool weights);
  // Shows the tensors of the step that next() will train.
  void inspect(TensorObserver& observer);
  // Returns the samples of a tower in that step.
  std::vector<int64_t> samples(int tower);

  uint64_t hash() { return trainer_->parameter_hash(); }
  std::vector<uint64_t> tensor_hashes() { return trainer_->tensor_hashes(); }
  const ParameterLayout& layout() const { return trainer_->layout(); }
  const RunSetup& setup() const { return *setup_; }
  const SavedTensors& state();  // the present one, valid until another method is called

 private:
  const Batch& batch();

  ReplayHooks hooks_;
  RunOptions options_;
  std::optional<LoadedCheckpoint> from_;
  Observer silent_;
  std::unique_ptr<RunSetup> setup_;
  std::unique_ptr<BatchLoader> data_;  // before the trainer, which reads it
  std::unique_ptr<TowerTrainer> trainer_;
  std::optional<Schedule> schedule_;
  Guard guard_;
  const Batch* batch_ = nullptr;  // of the next step, once it is read
  int64_t step_ = 0;
  bool left_out_ = false;  // whether the guard kept the newest step from the weights
};

}  // namespace spire::inline run
