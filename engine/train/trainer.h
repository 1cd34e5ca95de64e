// One model on its devices: replicas, lanes and plans made once, then steps and evaluations. A step
// allocates nothing and hands nothing from thread to thread but at its joints. With more than one
// process each has a Trainer with its own lanes; all call the same methods in the same order.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/checkpoint/training_state.h"
#include "engine/collective/host_all_gather.h"
#include "engine/collective/shard_exchange.h"
#include "engine/config/memory_limit.h"
#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream_barrier.h"
#include "engine/train/forward_pass.h"
#include "engine/train/held_state.h"
#include "engine/train/placement.h"
#include "engine/train/tower_runner.h"
#include "engine/update/device_loss_scale.h"
#include "engine/update/parameter_update.h"
#include "kernels/nvidia/cuda_libraries.h"
#include "models/model.h"

namespace spire::inline training {

// Whether checkpoints are written from a copy of the state. fitting: where there is memory for it,
// and where the state lies with several processes, which has to come together.
enum class SnapshotChoice : uint8_t { never, fitting, always };

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
  MemoryLimit memory_limit = {};
  SnapshotChoice snapshot = SnapshotChoice::never;  // for checkpoints, on rank 0
  bool plan_only = false;                           // compiled, and nothing allocated: see Trainer
  CudaConfig cuda;
  // The run's choices among engines on GPUs; outlives the trainer. Null: the libraries' favourites.
  Tuning* tuning = nullptr;

  ModelInput input(int64_t batch, bool training) const;
};

struct StepResult {
  int64_t step = 0, samples = 0;  // 1 for the first; the global batch's valid ones
  double lr = 0;
  double loss = 0;          // mean over the global batch's valid samples
  double score = 0;         // mean of what the metric is made from (Metric)
  double grad_norm = 0;     // of the averaged gradient, before clipping
  double comm_seconds = 0;  // the reduction's time after the last lane's towers were done
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

// (kind, bytes)
using MemoryByKind = std::vector<std::pair<std::string, int64_t>>;

// What a step leaves for the host, which reads it when the lanes' streams are done with it.
struct StepNumbers {
  // [loss of each tower][score][stop of each rank][squares of each chunk]
  std::unique_ptr<DeviceMemory> memory;
  TowerSums sums;
  std::span<double> stops, squares;
  std::span<double> shared;  // all but the squares: what processes tell each other
  // Of the step itself:
  int64_t step = 0, samples = 0;
  double lr = 0;
  // One a lane: behind its towers, which wait for no rank (but where these sum over towers), behind
  // the reduction, and behind all of it.
  std::vector<std::unique_ptr<Event>> own_work, reduced, all_work;

  double gradient_norm() const;  // of the summed, scaled gradient
  bool any_stop() const;
};

// What a member of this process (members.h) has for itself.
struct LocalMember {
  int index = 0;                            // of all members: its rank in the exchange
  size_t front = 0;                         // local device
  int lane = 0;                             // the front's first: it exchanges for the others
  std::unique_ptr<Communicator> exchange;   // between devices' memory; null: there is one member
  std::unique_ptr<DeviceMemory> squares;    // of the gradient's chunks, where its devices read them
  std::unique_ptr<CrossTowerSums> vectors;  // null: no sums over towers
  std::unique_ptr<GradientReduction> reduction;
  std::unique_ptr<ShardExchange> norm_slices;  // null: no other member knows what this one needs
  std::unique_ptr<ShardExchange> weight_slices;
};

class Trainer {
 public:
  // Compiles all plans, allocates everything and initialises the weights. group: joins the
  // placement's ranks, outlives this; null for one. Throws what they throw, and
  // Error(out_of_memory), with a table, before anything big is allocated where the plan shows that
  // it does not fit. With plan_only there are no weights; only what is const and says no values may
  // be called.
  Trainer(const TrainerOptions& options, const Placement& placement, ProcessGroup* group = nullptr);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // What follows is called on the leading thread: team().lead([&] { ... }). After an exception out
  // of a step nothing but the destructor is to be called. A lane's error is a LaneError.
  LaneTeam& team() { return *team_; }

  // The scale of fp16's loss, and what was skipped.
  const LossScaleState& loss_scale() const { return loss_scale_.state(); }

  // One optimizer step: begin_step(), then finish_step(). The batch has been read on return, and so
  // it has after evaluate().
  // done: steps before it; lr: its learning rate; stop: this rank asks all to stop.
  StepResult step(const Batch& batch, int64_t done, double lr, bool stop = false);

  // The same in two parts, so that the host goes on while GPUs compute: it may begin max_ahead()
  // steps more before it takes the results of the oldest. CPUs have done the step with
  // begin_step(). GPUs copy a batch in pinned memory until its finish_step(), or the trainer's end:
  // a loader whose next() comes with max_ahead() steps under way holds max_ahead() + 1 batches.
  // Nothing else is called while a step is under way.
  void begin_step(const Batch& batch, int64_t done, double lr, bool stop = false);
  StepResult finish_step();
  int max_ahead() const;
  int under_way() const { return static_cast<int>(begun_ - finished_); }

  // Brings the weights into the forms evaluation reads; then each batch adds its sums to `sums`.
  // With an average of the weights it takes their place, everywhere, until end_evaluation(), which
  // comes before the next step or hold_state().
  void begin_evaluation();
  void evaluate(const Batch& batch, EvaluationSums& sums, bool stop = false);
  void end_evaluation();

  // What a checkpoint says of this trainer, beside its state and the run's progress.
  void describe(StateMetadata& metadata) const;
  // Makes state() what the trainer is now; all ranks take part. With a snapshot that is a copy,
  // which stays as it is until the next call; without one it is read where it lies, and only until
  // something else is called: another hold_state() finds it again.
  void hold_state();
  // Weights, statistics and optimizer state, on rank 0. Any thread may read them.
  const SavedTensors& state() const { return *held_; }
  bool keeps_snapshot() const { return keeps_snapshot_; }
  std::string checkpoints_text() const;  // in words, for the start of a run; rank 0's
  // Memory of the host for one piece of state() at a time.
  std::span<float> piece() const { return {piece_->as<float>(), piece_floats()}; }

  // tensors: on rank 0, from where they reach all. Throws Error(checkpoint) naming the first tensor
  // that does not fit the model.
  void restore(const StateMetadata& metadata, const SavedTensors* tensors);

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
  ThreadStatus& board() { return board_; }
  std::optional<RecomputeInfo> recompute() const { return lanes_.front()->recompute(); }

  // One a device of this rank: as planned before the first step, and the most of each kind so far.
  std::vector<MemoryByKind> planned_memory() const;
  std::vector<MemoryByKind> peak_memory() const;
  std::vector<std::optional<size_t>> memory_limits() const;
  // Why the plan does not fit, as the error would say it; empty: it does, as far as one can tell.
  std::string memory_shortage() const;

 private:
  Stream& stream(int lane) { return *streams_[static_cast<size_t>(lane)]; }
  Replica& front() { return *replicas_[front_]; }
  const Replica& front() const { return *replicas_[front_]; }
  Replica& replica_of(int device) { return *replicas_[static_cast<size_t>(device - local_.begin)]; }
  const PlacedDevice& device(int index) const {
    return placement_.devices[static_cast<size_t>(index)];
  }
  MemoryPool& pool_of(int device) const {
    return *pools_[static_cast<size_t>(device - local_.begin)];
  }
  CudaLibraries* libraries_of(int device) {
    return libraries_[static_cast<size_t>(device - local_.begin)].get();
  }
  // Where the member's devices have the squares of the gradient's chunks.
  std::span<double> squares_of(const LocalMember& member) const {
    return {member.squares->as<double>(), chunks()};
  }
  size_t local_member(int index) const {  // of a local device
    return static_cast<size_t>(device(index).member - device(local_.begin).member);
  }
  LocalMember& member_of(int device) { return members_[local_member(device)]; }
  const LocalMember& member_of(int device) const { return members_[local_member(device)]; }
  LocalMember& member_of_lane(int lane) {
    return member_of(placement_.lane_device[static_cast<size_t>(lane)]);
  }
  const Member& placed(const LocalMember& member) const {
    return placement_.members[static_cast<size_t>(member.index)];
  }
  bool is_front(int device) const {
    return member_of(device).front == static_cast<size_t>(device - local_.begin);
  }
  Replica& front_of(const LocalMember& member) { return *replicas_[member.front]; }
  int ranks() const { return placement_.ranks; }
  int root() const { return device(placement_.parameter_device).member; }
  int members() const { return static_cast<int>(placement_.members.size()); }  // of all ranks
  bool mirrored() const { return placement_.strategy == Strategy::mirrored; }

  void make_lanes(const TrainerOptions& options, const GraphBuilder& build);
  void share_choices(Tuning* tuning);
  void make_numbers();
  BucketReducer::Options exchange_options() const;
  std::vector<NodeBuffer> node_buffers(const LocalMember& member) const;
  size_t exchange_bytes(const LocalMember& member) const;
  void make_members();
  void make_reduction(LocalMember& member);
  void make_slices();
  void make_vectors(LocalMember& member);
  void make_links();
  void make_norms(const std::vector<WeightSpan>& spans);
  void share_numbers(StepNumbers& numbers);
  void plan_updates(const TrainerOptions& trainer);
  void make_updates();
  void make_pools(const std::vector<DeviceId>& ids, const TrainerOptions& options);
  TensorNorms* norms_of(int device) const;  // what it measures into, and reads
  size_t chunks() const;                    // of the trained gradients
  MemoryUse plan_of(int device) const;
  void plan_memory();
  void allocate_memory();
  MemoryByKind by_kind(const MemoryUse& use) const;
  std::vector<FloatRange> slices_of(Share share) const;
  std::vector<int> owners() const;
  std::vector<int> chunk_owners() const;

  void on_lane(int lane, const std::function<void(int)>& body);
  void guarded(int lane, const std::function<void(int)>& body);
  StepNumbers& numbers_of(int64_t step) {
    return numbers_[static_cast<size_t>(step) % numbers_.size()];
  }
  void await_device(int lane, const StepNumbers& numbers);
  void await(int lane, const Event& event);
  bool abort_peers();
  double exposed_seconds(const StepNumbers& numbers);
  void make_devices(const TrainerOptions& options);
  void make_exchanges(bool plan_only);
  void meet(int lane) { joint_->meet(lane); }
  void write_weights(const float* values);
  void run_step(int lane);
  void update(int lane);
  DeviceLossScale* loss_scale_of(int lane);
  void share_norms(int lane);
  void swap_average(int lane);
  void share_weights(int lane);
  void replicate(int lane);
  void renew_replicas();
  void begin_average();
  void swap_average();
  std::vector<std::string> slots() const;
  // Whether the state lies with several processes.
  bool gathers_state() const { return placement_.strategy == Strategy::sharded && ranks() > 1; }
  size_t piece_floats() const;
  void for_each_window(const std::function<void(FloatRange)>& body);
  void read_slot(size_t slot, FloatRange window, float* out) const;
  void take_snapshot();
  void restore_slot(size_t slot, const std::string& name, const SavedTensors* tensors);
  void choose_snapshot(SnapshotChoice choice);
  bool snapshot_fits();
  size_t snapshot_bytes() const;  // of one, whether it is kept or not
  size_t checkpoint_bytes() const;
  std::unique_ptr<DeviceMemory> host_memory(size_t bytes);
  std::vector<uint64_t> gather_hashes(const std::vector<uint64_t>& mine);

  Placement placement_;
  ProcessGroup* group_;
  Share local_;  // this rank's devices
  ParameterLayout layout_;
  std::vector<FloatRange> buckets_;
  ThreadStatus board_;
  std::unique_ptr<LaneTeam> team_;
  MemoryPools pools_;                                      // one a local device
  std::vector<std::unique_ptr<CudaLibraries>> libraries_;  // one a local device; null for a CPU
  std::vector<std::unique_ptr<Replica>> replicas_;         // one a local device
  size_t front_ = 0;                              // the local device whose weights the host reads
  std::vector<std::unique_ptr<Stream>> streams_;  // one a lane
  std::unique_ptr<StreamBarrier> joint_;
  std::unique_ptr<Communicator> host_exchange_;  // between processes' hosts; null for one
  std::unique_ptr<Stream> host_stream_;
  std::vector<std::unique_ptr<TowerRunner>> lanes_;
  std::unique_ptr<ForwardPass> sampler_;  // on lane 0
  std::vector<LocalMember> members_;
  std::atomic<bool> peers_aborted_{false};
  std::vector<LaneContext> links_;
  std::vector<ParameterUpdate::Options> update_options_;   // one a local device
  std::vector<std::unique_ptr<ParameterUpdate>> updates_;  // one a local device; null: updates none
  // Of layer-wise optimizers alone, one a local device: null where it shares its member's.
  std::vector<std::unique_ptr<TensorNorms>> norms_;
  std::unique_ptr<ShardExchange> state_slices_;  // of the hosts
  std::unique_ptr<Optimizer> optimizer_;
  Ema ema_;
  LossScale loss_scale_;  // of the step that is finished next
  std::vector<std::unique_ptr<DeviceLossScale>> device_loss_scales_;  // of fp16: one a local device
  bool averaged_ = false;  // the average is where the weights belong
  std::unique_ptr<HeldState> held_;
  bool keeps_snapshot_ = false;
  std::unique_ptr<DeviceMemory> snapshot_, piece_;  // of the host

  std::array<StepNumbers, 2> numbers_;  // of steps by turns; an evaluation's are the first
  int64_t begun_ = 0, finished_ = 0;    // steps
  mutable Buffer host_weights_;         // a copy, where the host cannot read the devices' weights
  std::unique_ptr<HostAllGather> host_all_gather_;  // all but the squares

  // The step or evaluation that the lanes work on; written by the leader before they read it.
  const Batch* batch_ = nullptr;
  StepNumbers* current_ = nullptr;
  StepContext context_;
  ParameterUpdate::Step update_step_;
  // Made once: no allocation in a step.
  std::function<void(int)> step_body_, await_body_, evaluate_body_, swap_body_;
};

}  // namespace spire::inline training
