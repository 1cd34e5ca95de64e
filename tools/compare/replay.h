// Trains a run again in this process, step by step, without an output directory: from a checkpoint
// or from its beginning. It computes the bits of the run.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>
#include <spire/train.h>

#include "engine/data/loader.h"
#include "engine/run/audit/audit_record.h"
#include "engine/run/guard.h"
#include "engine/run/run_setup.h"
#include "engine/run/watch.h"
#include "engine/train/tower_trainer.h"
#include "engine/update/schedule.h"

namespace spire {

// How a program takes part in replays. Tests make a replay faulty: on a CPU an observer sees the
// tensors where they lie, before the next kernel reads them.
struct ReplayHooks {
  TensorObserver* observer = nullptr;  // of all tensors, those of inspected steps too
  // After each step, and once before the first. done: number of steps.
  std::function<void(int64_t done, TowerTrainer&)> after_step = {};
};

class Replay {
 public:
  // from: where it begins; none: at step 0. Throws what train() throws.
  Replay(const RunConfig& config, const std::optional<LoadedCheckpoint>& from,
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
  // What a checkpoint of the present state says, but for evaluations and the chain.
  StateMetadata metadata();
  LoadedCheckpoint checkpoint();  // of the present state, in memory
  // The task's metric of the newest step, and its weights on data of the run.
  MetricValue metric() const { return metric_; }
  int64_t samples_seen() const { return samples_seen_; }
  EvalReport evaluate(const Dataset& data);

 private:
  const Batch& batch();
  void lead(const std::function<void()>& body);  // on the leading lane, watched

  std::unique_ptr<World> world_;  // of this process alone: its watchdog ends it where a GPU hangs

  ReplayHooks hooks_;
  RunOptions options_;
  std::optional<LoadedCheckpoint> from_;
  Observer silent_;
  std::unique_ptr<RunSetup> setup_;
  std::unique_ptr<BatchLoader> data_;  // before the trainer, which reads it; so are these
  std::map<const Dataset*, std::unique_ptr<BatchLoader>> evaluated_;
  std::unique_ptr<TowerTrainer> trainer_;
  std::optional<Schedule> schedule_;
  Guard guard_;
  const Batch* batch_ = nullptr;  // of the next step, once it is read
  int64_t step_ = 0, samples_seen_ = 0;
  MetricValue metric_;
  bool left_out_ = false;  // whether the guard kept the newest step from the weights
};

}  // namespace spire
