// Trains one model on the devices of a run: steps and evaluations, which allocate nothing. Each
// process has a Trainer for its devices; all call the same methods in the same order.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/collective/exchange.h"
#include "engine/config/memory_limit.h"
#include "engine/train/device_set.h"
#include "engine/train/forward_pass.h"
#include "engine/train/gradient_stage.h"
#include "engine/train/placement.h"
#include "engine/train/state_transfer.h"
#include "engine/train/step_metrics.h"
#include "engine/train/update_stage.h"
#include "engine/update/strategy.h"
#include "models/model.h"

namespace spire::inline training {

struct TrainerOptions {
  ModelConfig model;
  LossConfig loss;
  OptimizerConfig optimizer;
  EmaConfig ema;
  LossScaleConfig loss_scale = {};
  std::vector<Column> train_columns, test_columns;  // of batches; the model reads the first
  int64_t classes = 0;                              // of labels; tokens: the vocabulary
  DType precision = DType::f32;                     // f32 | bf16 | f16 (GPUs alone): of activations
  uint64_t seed = 0;
  int64_t train_samples = 0;  // of the dataset, for its last, ragged batch; 0: drop_last
  int64_t test_samples = 0;
  BucketConfig bucket;
  int64_t sample_rows = 0;  // rank 0 also gets a forward pass of so many rows; 0: none
  bool recompute = false;   // activations inside the model's blocks, in backward
  MemoryLimit memory_limit = {};
  SnapshotChoice snapshot = SnapshotChoice::never;  // for checkpoints, on rank 0
  bool plan_only = false;                           // compiles, and allocates nothing: see Trainer
  CudaConfig cuda;
  Tuning* tuning = nullptr;  // outlives the trainer; null: the libraries' favourite engines

  ModelInput input(int64_t batch, bool training) const;
};

struct StepResult {
  int64_t step = 0, samples = 0;  // 1 for the first; valid samples of the global batch
  double lr = 0;
  double loss = 0;            // mean over the global batch's valid samples
  double score = 0;           // mean of the number that the metric is made from (Metric)
  double grad_norm = 0;       // of the averaged gradient, before clipping
  double comm_seconds = 0;    // the reduction's time after the last lane's towers were done
  double loss_scale = 0;      // fp16's in this step; 0: another precision
  bool skipped = false;       // fp16: the gradients overflowed, so nothing was updated
  int64_t skipped_steps = 0;  // so far
  bool stop = false;          // a rank asked to stop
};

struct EvaluationSums {
  double loss = 0, score = 0;
  int64_t samples = 0;
  bool stop = false;  // a rank asked to stop
};

using MemoryByKind = std::vector<std::pair<std::string, int64_t>>;  // (kind, bytes)

class Trainer {
 public:
  // Compiles all plans, allocates everything and initializes the weights. group: joins the
  // placement's ranks, outlives this; null for one. Throws Error(out_of_memory) before it allocates
  // what does not fit, and what compiling throws. With plan_only there are no weights: only const
  // methods that read no values may be called.
  Trainer(const TrainerOptions& options, const Placement& placement, ProcessGroup* group = nullptr);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // All methods below are for the leading thread: team().lead([&] { ... }). After an exception out
  // of a step only the destructor may be called. A lane's error is a LaneError.
  LaneTeam& team() { return devices_->team(); }

  // Runs one optimizer step; the batch has been read on return, as after evaluate(). done: steps
  // before it; stop: this rank asks all to stop.
  StepResult step(const Batch& batch, int64_t done, double lr, bool stop = false);

  // The same in two parts, so that the host goes on while GPUs compute: it may begin max_ahead()
  // more steps before it finishes the oldest, and calls nothing else meanwhile. GPUs copy a batch
  // in pinned memory until its finish_step(), or the trainer's end: a loader keeps max_ahead() + 1.
  void begin_step(const Batch& batch, int64_t done, double lr, bool stop = false);
  StepResult finish_step();
  int max_ahead() const;
  int under_way() const { return static_cast<int>(begun_ - finished_); }

  // Each batch between begin and end adds its sums to `sums`. With averaged weights these replace
  // the weights, everywhere, until end_evaluation().
  void begin_evaluation();
  void evaluate(const Batch& batch, EvaluationSums& sums, bool stop = false);
  void end_evaluation();

  void describe(StateMetadata& metadata) const;  // fills in the trainer's part
  void capture_state();  // lets state() be the present one; all ranks: see StateTransfer::capture
  // Weights, statistics and optimizer state, on rank 0. Any thread may read them.
  const SavedTensors& state() const { return state_->state(); }
  bool keeps_snapshot() const { return state_->keeps_snapshot(); }
  std::string checkpoints_text() const { return state_->text(); }  // for the start of a run
  std::span<float> piece() const { return state_->piece(); }       // memory for a part of state()

  // tensors: on rank 0, which sends them to all. Throws Error(checkpoint) naming the first that
  // does not fit the model.
  void restore(const StateMetadata& metadata, const SavedTensors* tensors);

  // Sets the plain values of every parameter and renews the replicas.
  void set_weights(const std::function<void(const ParameterEntry&, std::span<float>)>& fill);

  void check_replicas();  // of the whole run: see replica.h

  // Runs between begin_evaluation() and end_evaluation(); null without sample_rows.
  ForwardPass* sampler() { return sampler_.get(); }

  uint64_t parameter_hash() const { return layout_.hash(weights()); }
  std::optional<uint64_t> average_hash();  // all ranks call it; none where nothing is averaged
  // Returns the plain weights for the host to read, until another method is called.
  const float* weights() const { return devices_->read_weights(); }
  Replica& replica(int device) { return devices_->replica(device); }  // of this process
  const ParameterLayout& layout() const { return layout_; }
  const Placement& placement() const { return placement_; }
  ThreadStatus& status() { return devices_->status(); }
  const LossScaleState& loss_scale() const { return update_->loss_scale().state(); }
  std::optional<RecomputeInfo> recompute() const { return gradients_->recompute(); }

  // One a device of this rank: as planned before the first step, and the most of each kind so far.
  std::vector<MemoryByKind> planned_memory() const;
  std::vector<MemoryByKind> peak_memory() const;
  std::vector<std::optional<size_t>> memory_limits() const;
  // Returns the error's text where the plan does not fit; empty: it fits as far as is known.
  std::string memory_shortage() const;

 private:
  void make_devices(const TrainerOptions& options);
  void make_stages(const TrainerOptions& options);
  void plan_memory();
  void allocate_memory();
  void initialize(const TrainerOptions& options);
  MemoryByKind by_kind(const MemoryUse& use) const;

  StepMetrics& metrics_of(int64_t step) {
    return metrics_[static_cast<size_t>(step) % metrics_.size()];
  }
  void run_step(int lane, const StepJob& job);
  void await_step(int lane, const StepMetrics& metrics);
  void share_metrics(StepMetrics& metrics);
  template <typename Body>
  void on_lanes(const Body& body);
  template <typename Body>
  void on_lanes_until_done(const Body& body);
  [[noreturn]] void fail_lane(int lane);
  bool abort_peers();
  void renew_replicas();
  void swap_average();

  Placement placement_;
  ProcessGroup* group_;
  ParameterLayout layout_;
  std::vector<FloatRange> buckets_;
  std::unique_ptr<UpdateStrategy> strategy_;
  std::unique_ptr<DeviceSet> devices_;
  std::unique_ptr<GradientStage> gradients_;
  std::unique_ptr<UpdateStage> update_;
  std::unique_ptr<StateTransfer> state_;
  std::unique_ptr<ForwardPass> sampler_;       // on lane 0
  std::array<StepMetrics, 2> metrics_;         // of steps by turns; an evaluation uses the first
  std::unique_ptr<HostAllGather> all_gather_;  // of StepMetrics::shared
  StepContext context_;                        // the seed; each step fills in a copy
  int64_t begun_ = 0, finished_ = 0;           // steps
  bool averaged_ = false;                      // the average is in the weights' place
  std::atomic<bool> peers_aborted_{false};
};

}  // namespace spire::inline training
