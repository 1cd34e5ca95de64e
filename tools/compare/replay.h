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

// Callbacks of a replay. Tests use them to make a replay faulty: on a CPU an observer gets the
// tensors' own memory, before the next kernel reads it.
struct ReplayHooks {
  TensorObserver* observer = nullptr;  // sees all tensors, also of inspected steps; null: none
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
  // Trains a step. Throws Error(config) at a step where the run rolled back: a replay cannot follow
  // it.
  StepOutcome next();
  // The same; returns what a chain records of the step. weights: true adds the hashes of the
  // weights.
  AuditRecord next_record(bool weights);
  // Computes the step that next() will train, without an update, and shows its tensors.
  void inspect(TensorObserver& observer);
  // Returns the indices of a tower's samples in the step that next() will train.
  std::vector<int64_t> samples(int tower);

  uint64_t hash() { return trainer_->parameter_hash(); }
  std::vector<uint64_t> tensor_hashes() { return trainer_->tensor_hashes(); }
  const ParameterLayout& layout() const { return trainer_->layout(); }
  const RunSetup& setup() const { return *setup_; }
  const SavedTensors& state();  // the present one, valid until another method is called
  // Returns what a checkpoint of the present state says, without evaluations and the chain.
  StateMetadata metadata();
  LoadedCheckpoint checkpoint();  // of the present state, in memory
  // metric(): the task's metric of the newest step. evaluate(): of the present weights, on data of
  // the run.
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
  std::unique_ptr<BatchLoader> data_;  // before the trainer, which reads it; so is the next
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
