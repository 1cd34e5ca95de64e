// One model on its devices: replicas, lanes and plans made once, then steps and evaluations. A step
// allocates nothing and hands nothing from thread to thread but at its joints.
#pragma once
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <spire/device/lane_team.h>
#include <spire/models/model.h>
#include <spire/train/parameter_update.h>
#include <spire/train/placement.h>
#include <spire/train/snapshot.h>
#include <spire/train/tower_lane.h>

namespace spire {

struct TrainerOptions {
  ModelConfig model;
  LossConfig loss;
  OptimizerConfig optimizer;
  ImageShape image;              // what the model reads
  DType precision = DType::f32;  // f32 | bf16: of activations
  uint64_t seed = 0;
  // Their last, ragged batches get plans of their own. train_samples 0 with drop_last.
  int64_t train_samples = 0, test_samples = 0;
};

struct StepResult {
  double loss = 0;       // mean over the global batch's valid samples
  double accuracy = 0;   // 0..1
  double grad_norm = 0;  // of the averaged gradient, before clipping
};

struct EvaluationSums {
  double loss = 0, correct = 0;
  int64_t samples = 0;
};

// (kind, bytes), as planned before the first step.
using MemoryByKind = std::vector<std::pair<std::string, int64_t>>;

class Trainer {
 public:
  // Compiles all plans and initialises the weights. Throws what they throw.
  Trainer(const TrainerOptions& options, const Placement& placement);

  // What follows is called on the leading thread: team().lead([&] { ... }).
  LaneTeam& team() { return *team_; }

  // One optimizer step. done: steps before it; lr: its learning rate.
  StepResult step(const Batch& batch, int64_t done, double lr);

  // Brings the weights into the forms evaluation reads; then each batch adds its sums to `sums`.
  void begin_evaluation();
  void evaluate(const Batch& batch, EvaluationSums& sums);

  // Copies weights, statistics and optimizer state out; allocates only when `state` is not yet
  // filled.
  void snapshot(TrainingState& state) const;
  // And in. Throws Error(checkpoint) naming the first tensor that does not fit the model.
  void restore(const TrainingState& state);

  // Sets the plain values of every entry and renews the replicas.
  void set_weights(const std::function<void(const ParameterEntry&, std::span<float>)>& fill);

  uint64_t parameter_hash() const { return layout_.hash(master().values()); }
  const float* weights() const { return master().values(); }
  const ParameterLayout& layout() const { return layout_; }
  const Placement& placement() const { return placement_; }
  std::vector<MemoryByKind> planned_memory() const;  // one a device

 private:
  Replica& master() { return *replicas_[static_cast<size_t>(placement_.parameter_device)]; }
  const Replica& master() const {
    return *replicas_[static_cast<size_t>(placement_.parameter_device)];
  }
  void make_lanes(const TrainerOptions& options, const GraphBuilder& build);
  void run_step(int lane);
  void replicate(int lane);
  void renew_replicas();

  Placement placement_;
  ParameterLayout layout_;
  std::unique_ptr<LaneTeam> team_;
  std::vector<std::unique_ptr<Replica>> replicas_;  // one a device
  std::vector<std::unique_ptr<TowerLane>> lanes_;
  std::unique_ptr<ParameterUpdate> update_;
  TowerSums sums_;

  // The step or evaluation under way; written by the leader before the lanes read it.
  const Batch* batch_ = nullptr;
  StepContext context_;
  UpdateStep update_step_;
  std::function<void(int)> step_body_, evaluate_body_;  // made once: no allocation in a step
};

}  // namespace spire
