// One model on its devices: replicas, lanes and plans made once, then steps and evaluations. A step
// allocates nothing and hands nothing from thread to thread but at its joints. With more than one
// process each has a Trainer with its own lanes; all call the same methods in the same order.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <spire/collective/shared_table.h>
#include <spire/collective/slice_exchange.h>
#include <spire/device/lane_joint.h>
#include <spire/device/lane_team.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/models/model.h>
#include <spire/optim/loss_scale.h>
#include <spire/train/forward_pass.h>
#include <spire/train/parameter_update.h>
#include <spire/train/placement.h>
#include <spire/train/snapshot.h>
#include <spire/train/tower_lane.h>

namespace spire {

struct TrainerOptions {
  ModelConfig model;
  LossConfig loss;
  OptimizerConfig optimizer;
  EmaConfig ema;
  LossScaleConfig loss_scale = {};
  // What batches bring, in training and in evaluation; the model reads the first.
  std::vector<Column> train_columns, test_columns;
  int64_t classes = 0;           // of labels; tokens: the vocabulary
  DType precision = DType::f32;  // f32 | bf16 | f16 (GPUs alone): of activations
  uint64_t seed = 0;
  // Their last, ragged batches get plans of their own. train_samples 0 with drop_last.
  int64_t train_samples = 0, test_samples = 0;
  BucketConfig bucket;
  int64_t sample_rows = 0;  // rank 0 also gets a forward pass of so many rows; 0: none
  bool recompute = false;   // the inside of the model's blocks, in backward
  CudaConfig cuda;
  // The run's choices among engines on GPUs; outlives the trainer. Null: the libraries' favourites.
  Tuning* tuning = nullptr;

  ModelInput input(int64_t batch, bool training) const;
};

struct StepResult {
  double loss = 0;          // mean over the global batch's valid samples
  double score = 0;         // mean of what the metric is made from (Metric)
  double grad_norm = 0;     // of the averaged gradient, before clipping
  double comm_seconds = 0;  // the reduction's time that no tower's work hid
  // Of fp16 alone: the loss's factor in this step (0: another precision); whether the gradients
  // overflowed, so that nothing was updated; and how many steps went so, in all.
  double loss_scale = 0;
  bool skipped = false;
  int64_t skipped_steps = 0;
  bool stop = false;  // some rank asked to stop
};

struct EvaluationSums {
  double loss = 0, score = 0;
  int64_t samples = 0;
  bool stop = false;  // some rank asked to stop
};

// (kind, bytes), as planned before the first step.
using MemoryByKind = std::vector<std::pair<std::string, int64_t>>;

class Trainer {
 public:
  // Compiles all plans and initialises the weights. group: joins the placement's ranks, outlives
  // this; null for one. Throws what they throw.
  Trainer(const TrainerOptions& options, const Placement& placement, ProcessGroup* group = nullptr);

  // What follows is called on the leading thread: team().lead([&] { ... }). After an exception out
  // of a step nothing but the destructor is to be called. A lane's error is a LaneError.
  LaneTeam& team() { return *team_; }

  // The scale of fp16's loss, and what was skipped.
  const LossScaleState& loss_scale() const { return loss_scale_.state(); }

  // One optimizer step. done: steps before it; lr: its learning rate; stop: this rank asks all to
  // stop.
  StepResult step(const Batch& batch, int64_t done, double lr, bool stop = false);

  // Brings the weights into the forms evaluation reads; then each batch adds its sums to `sums`.
  // With an average of the weights it takes their place, everywhere, until end_evaluation(), which
  // comes before the next step or snapshot.
  void begin_evaluation();
  void evaluate(const Batch& batch, EvaluationSums& sums, bool stop = false);
  void end_evaluation();

  // Copies weights, statistics and optimizer state out, on rank 0 (the others take part, and leave
  // `state` alone); allocates only when `state` is not yet filled.
  void snapshot(TrainingState& state);
  // And in: rank 0's state reaches all. Throws Error(checkpoint) naming the first tensor that does
  // not fit the model.
  void restore(const TrainingState& state);

  // Sets the plain values of every entry and renews the replicas.
  void set_weights(const std::function<void(const ParameterEntry&, std::span<float>)>& fill);

  // Throws Error(collective) naming the first tensor, and the device, whose bits are not those of
  // the other devices.
  void check_replicas();

  // Null without sample_rows. For the leading thread, between begin_ and end_evaluation().
  ForwardPass* sampler() { return sampler_.get(); }

  uint64_t parameter_hash() const { return layout_.hash(weights()); }
  // The same of the averaged weights, on all ranks together; none where nothing is averaged.
  std::optional<uint64_t> average_hash();
  // The plain weights for the host to read, until something of this is called again.
  const float* weights() const { return front().read(host_weights_); }
  Replica& replica(int device) { return replica_of(device); }  // a local device's
  const ParameterLayout& layout() const { return layout_; }
  const Placement& placement() const { return placement_; }
  PhaseBoard& board() { return board_; }
  std::optional<RecomputeInfo> recompute() const { return lanes_.front()->recompute(); }
  std::vector<MemoryByKind> planned_memory() const;  // one a device of this rank

 private:
  Stream& stream(int lane) { return *streams_[static_cast<size_t>(lane)]; }
  Replica& front() { return *replicas_[front_]; }
  const Replica& front() const { return *replicas_[front_]; }
  Replica& replica_of(int device) { return *replicas_[static_cast<size_t>(device - local_.begin)]; }
  const PlacedDevice& device(int index) const {
    return placement_.devices[static_cast<size_t>(index)];
  }
  CudaLibraries* libraries_of(int device) {
    return libraries_[static_cast<size_t>(device - local_.begin)].get();
  }
  // Where the lanes' devices have the squares of the gradient's chunks.
  std::span<double> squares_of_chunks() const {
    return device_squares_ ? std::span(device_squares_->as<double>(), squares_.size()) : squares_;
  }
  int ranks() const { return placement_.ranks; }
  bool mirrored() const { return placement_.strategy == Strategy::mirrored; }

  void make_lanes(const TrainerOptions& options, const GraphBuilder& build);
  void share_choices(Tuning* tuning);
  void make_table();
  std::vector<FloatRange> buckets(const BucketConfig& bucket) const;
  RankExchange::Options exchange_options(const BucketConfig& bucket) const;
  void make_reduction(const BucketConfig& bucket);
  void make_slices();
  void make_links();
  void make_norms(const std::vector<WeightSpan>& spans);
  void make_updates(const TrainerOptions& trainer);
  std::vector<FloatRange> slices_of(Share share) const;
  std::vector<int> owners() const;
  std::vector<int> chunk_owners() const;

  void on_lane(int lane, const std::function<void(int)>& body);
  void await_device(int lane);
  void make_devices(const TrainerOptions& options);
  void meet(int lane) { joint_->meet(lane); }
  void write_weights(const float* values);
  void run_step(int lane);
  void update(int lane);
  void share_norms(int lane);
  void swap_average(int lane);
  void share_weights(int lane);
  void replicate(int lane);
  void renew_replicas();
  void begin_average();
  void swap_average();
  std::vector<std::string> slots() const;
  double gradient_norm() const;
  bool any_stop() const;
  float* gather_state(size_t slot);
  std::vector<uint64_t> gather_hashes(const std::vector<uint64_t>& mine);
  void broadcast(float* values);

  Placement placement_;
  ProcessGroup* group_;
  Share local_;  // this rank's devices
  ParameterLayout layout_;
  PhaseBoard board_;
  std::unique_ptr<LaneTeam> team_;
  std::vector<std::unique_ptr<CudaLibraries>> libraries_;  // one a local device; null for a CPU
  std::vector<std::unique_ptr<Replica>> replicas_;         // one a local device
  size_t front_ = 0;  // the local replica that an update elsewhere reaches first
  std::vector<std::unique_ptr<Stream>> streams_;  // one a lane
  std::unique_ptr<LaneJoint> joint_;
  std::vector<std::unique_ptr<TowerLane>> lanes_;
  std::unique_ptr<ForwardPass> sampler_;  // on lane 0
  std::vector<LaneLinks> links_;
  std::unique_ptr<TowerVectors> vectors_;
  std::unique_ptr<GradientReduction> reduction_;
  std::vector<std::unique_ptr<ParameterUpdate>> updates_;  // one a local device; null: updates none
  // Of layer-wise optimizers alone: one a process, or one a local device that updates everything.
  std::vector<std::unique_ptr<TensorNorms>> norms_;
  std::unique_ptr<SharedTable> norm_table_;  // null: no other process knows what this one needs
  std::unique_ptr<SliceExchange> weight_slices_;
  std::unique_ptr<Optimizer> optimizer_;
  Ema ema_;
  LossScale loss_scale_;
  bool averaged_ = false;  // the average is where the weights belong
  Buffer state_;           // one slot's optimizer state, whole; made when a snapshot needs it

  // [loss of each tower][score][stop of each rank][squares of each chunk], of the host
  std::unique_ptr<DeviceMemory> table_memory_;
  std::span<double> table_;
  // The squares where the lanes' devices write and read them, if that is not the table.
  std::unique_ptr<DeviceMemory> device_squares_;
  mutable Buffer host_weights_;  // a copy, where the host cannot read the devices' weights
  std::unique_ptr<SharedTable> step_table_, evaluation_table_;
  TowerSums sums_;
  std::span<double> stops_, squares_;

  // The step or evaluation under way; written by the leader before the lanes read it.
  const Batch* batch_ = nullptr;
  StepContext context_;
  UpdateStep update_step_;
  // Made once: no allocation in a step.
  std::function<void(int)> step_body_, evaluate_body_, swap_body_;
};

}  // namespace spire
