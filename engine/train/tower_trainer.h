// Trains one model on the devices of a run, by steps and evaluations that allocate no memory. Each
// process of the run has a TowerTrainer for its devices; all call the same methods in the same
// order.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spire/metric.h>

#include "engine/train/device_set.h"
#include "engine/train/forward_pass.h"
#include "engine/train/gradient_stage.h"
#include "engine/train/monitor/device_monitor.h"
#include "engine/train/placement/placement.h"
#include "engine/train/state_transfer.h"
#include "engine/train/step_metrics.h"
#include "engine/train/trace/span_recorder.h"
#include "engine/train/update_stage.h"
#include "engine/update/exchange.h"
#include "engine/update/ownership.h"
#include "models/model.h"
#include "models/teacher.h"

namespace spire {

// What a TowerTrainer is made from: a config whose devices, towers and batch sizes a Placement has
// settled, and facts about the data and the run.
struct TowerTrainerOptions {
  RunConfig config;
  std::shared_ptr<const Model> own_model = nullptr;  // of the program, in place of config.model
  std::shared_ptr<const Teacher> teacher = nullptr;  // that the model learns from
  std::vector<Column> train_columns, test_columns;  // columns of a batch; the model reads the first
  int64_t classes = 0;                  // number of classes; for tokens: of the vocabulary
  std::vector<TableColumn> table = {};  // this and target_scale as in SampleSpec
  Normalization target_scale = {};
  int64_t exact_batch = 0;    // precision: exact: samples of a step over all towers; else 0
  int64_t train_samples = 0;  // size of the dataset; 0: incomplete last batches are dropped
  int64_t test_samples = 0, val_samples = 0;  // of the data of evaluations; 0: full batches
  bool any_batch = false;                     // batches of any number of samples
  int64_t sample_rows = 0;                    // batch size of sampler(), on rank 0; 0: no sampler
  bool shows_outputs = false;  // evaluations may show the model's outputs to an observer
  SnapshotChoice snapshot = SnapshotChoice::never;  // whether checkpoints use a snapshot
  bool judged = false;       // a judge sees each step before its update (TowerTrainer::set_judge)
  bool plan_only = false;    // compile the plans, but allocate nothing
  Tuning* tuning = nullptr;  // outlives the trainer; null: each library's first choice of engine
  // Called by the constructor with the lanes' status once there are lanes, and with null before it
  // returns or throws.
  std::function<void(const ThreadStatus*)> watch_lanes = {};

  ModelInput input(int64_t batch, bool training) const;
  // build_model_alone() returns the graph of the model itself, build() the graph that the run
  // trains, with adapters and frozen parameters (it serves as a GraphBuilder). Throw Error(config).
  Graph build_model_alone(int64_t batch, bool training) const;
  Graph build(int64_t batch, bool training) const;
  // Returns the graph for sampler(): it computes outputs from rows of the first column alone, and
  // does not pack several texts into a row.
  Graph build_for_rows(int64_t batch) const;
};

struct StepOutcome {
  int64_t step = 0, samples = 0;  // step counts from 1; valid samples of the global batch
  double lr = 0;
  double loss = 0;            // mean over the global batch's valid samples
  double score = 0;           // mean over the samples; measure() computes the metric from it
  double grad_norm = 0;       // norm of the averaged gradient, before clipping
  StepTimes times = {};       // means over this process's lanes; data and other: 0
  double loss_scale = 0;      // fp16: the loss scale of this step; other precisions: 0
  bool skipped = false;       // fp16: the gradients overflowed, so nothing was updated
  int64_t skipped_steps = 0;  // number in the run so far
  bool stop = false;          // a rank asked to stop
  // The step has changed nothing, because the judge did not accept it or because its gradients were
  // not finite (noticed only on CPUs with GradientStage::sums_first()).
  bool rejected = false;
  // DeviceNumbers of all devices of the run, in the order of Placement::devices, and each tower's
  // sum of losses. Valid until the next step begins.
  std::span<const double> devices = {}, tower_losses = {};
};

// Tells whether a step, whose gradients are complete, may change the weights. All ranks call it
// with equal numbers, on the leading thread; its answer must be the same on all.
using StepJudge = std::function<bool(const StepOutcome&)>;

struct EvaluationSums {  // over the samples of an evaluation
  double loss = 0, score = 0;
  int64_t samples = 0;
  bool stop = false;  // a rank asked to stop

  double mean_loss() const { return loss / static_cast<double>(samples); }
  MetricValue measured(Metric metric) const {
    return measure(metric, mean_loss(), score / static_cast<double>(samples));
  }
};

using MemoryByKind = std::vector<std::pair<std::string, int64_t>>;  // (kind, bytes)

class TowerTrainer {
 public:
  // Compiles all plans, allocates all memory and initializes the weights. group: connects the ranks
  // (processes) of the placement, outlives this; null if there is one rank. Throws what compiling
  // throws, and Error(out_of_memory), if possible before it allocates. With plan_only there are no
  // weights: only const methods that read no values may be called.
  TowerTrainer(const TowerTrainerOptions& options, const Placement& placement,
               ProcessGroup* group = nullptr);
  ~TowerTrainer();
  TowerTrainer(const TowerTrainer&) = delete;
  TowerTrainer& operator=(const TowerTrainer&) = delete;

  // Call all methods below on the leading thread: team().lead([&] { ... }). After an exception from
  // a step only the destructor may be called. An error on a lane is thrown as LaneError.
  LaneTeam& team() { return devices_->team(); }

  // Runs one optimizer step; on return the batch is no longer needed. done: number of steps before
  // this one. stop: this rank asks all ranks to stop.
  StepOutcome step(const Batch& batch, int64_t done, double lr, bool stop = false);

  // The same in two parts, so that the host goes on while GPUs compute: it may begin max_ahead()
  // more steps before it finishes the oldest, and calls no other method meanwhile. GPUs read a
  // batch in pinned memory until its finish_step(), so a loader keeps max_ahead() + 1 batches.
  // waited: seconds in which the host waited for the batch, for DeviceNumber::data_ms.
  void begin_step(const Batch& batch, int64_t done, double lr, bool stop = false,
                  double waited = 0);
  StepOutcome finish_step();
  int max_ahead() const;  // 0 with a judge

  // A step in parts, between which the host may change the gradients; collective. REQUIRE: a judge,
  // and between the first and the last of a step no other method but const ones.
  // compute_gradients() runs the towers of step `done` + 1. Called once more, it adds a batch: the
  // gradients, statistics, loss and score are then means over the samples of all its batches.
  // Later batches draw other random numbers. observer: may be null.
  StepOutcome compute_gradients(const Batch& batch, int64_t done,
                                TensorObserver* observer = nullptr);
  // Averaged gradients, without fp16's loss scale, and behind trained_floats() the statistics.
  // Rank 0's values are those of the update. Valid until the step ends.
  std::span<float> gradients();
  StepOutcome update(double lr);  // ends the step
  void discard_gradients();       // ends it without a trace

  // Other rates, factors, decay and so on for later steps. Throws Error(config) for patterns of
  // factors, as the constructor does. REQUIRES: the same name, own and slot_names(), and a judge.
  void set_optimizer(const OptimizerConfig& optimizer);
  void set_judge(StepJudge judge);  // before the first step. REQUIRES: TowerTrainerOptions::judged
  // Later steps report its newest readings. monitor: of this process's devices, outlives the steps;
  // null: none.
  void set_monitor(const DeviceMonitor* monitor) { monitor_ = monitor; }
  // count: how many of the steps before the next one a judge has rejected or a caller has undone.
  // The optimizer does not count these.
  void set_rejected_steps(int64_t count) { rejected_steps_ = count; }

  // Runs the towers of step `done` + 1 again, without an update, and shows their tensors. All ranks
  // call it, each for its own towers. The batch is the step's; no step is under way.
  void inspect(const Batch& batch, int64_t done, TensorObserver& observer);
  // Shows the tensors of later steps to the observer while they are trained; null: no observer.
  void observe(TensorObserver* observer) { gradients_->observe(observer); }

  // From begin_trace() on the spans of all streams are recorded, kernel by kernel; CUDA graphs are
  // not replayed meanwhile. Call both while no step is under way. end_trace() returns the threads:
  // the lanes, then, with several members, those that exchange buckets. Once this process has more
  // than max_spans, it keeps no later steps; traced_through() is the last step that it kept.
  void begin_trace(int64_t max_spans = INT64_MAX);
  std::vector<TracedThread> end_trace();
  int64_t traced_through() const { return traced_through_; }
  int under_way() const { return static_cast<int>(begun_ - finished_); }

  // begin_evaluation() packs the weights. From then to end_evaluation() the averaged weights, if
  // the run keeps them, replace the weights on all devices. Call end_evaluation() before the next
  // step or capture_state(). evaluate() adds the sums of one batch to `sums`.
  void begin_evaluation();
  // outputs: sees the model's outputs for this rank's rows. REQUIRES then:
  // TowerTrainerOptions::shows_outputs.
  void evaluate(const Batch& batch, EvaluationSums& sums, bool stop = false,
                OutputObserver* outputs = nullptr);
  void end_evaluation();

  void describe(StateMetadata& metadata) const;  // sets the fields that the trainer knows
  void capture_state();  // makes state() the present state; collective, see StateTransfer::capture
  // Weights, running statistics and optimizer state, on rank 0. Any thread may read them.
  const SavedTensors& state() const { return state_->state(); }
  bool keeps_snapshot() const { return state_->keeps_snapshot(); }
  std::string checkpoints_text() const { return state_->text(); }  // StartInfo's
  std::span<float> piece() const { return state_->piece(); }       // scratch for reading state()

  // Collective. tensors: read on rank 0 only, which sends them to all. Throws Error(checkpoint)
  // with the name of the first tensor that does not fit the model.
  void restore(const StateMetadata& metadata, const SavedTensors* tensors);

  // On rank 0 calls `fill` for each of the model's parameters and statistics with its present fp32
  // values, which it may change; copies the result to all replicas, and sets the averages to it.
  // Collective.
  void set_weights(const std::function<void(const ParameterEntry&, std::span<float>)>& fill);

  // Read or write one parameter or running statistic. write_weight() is collective; it writes rank
  // 0's values, and also sets the average of this parameter, and no other.
  void read_weight(const ParameterEntry& entry, std::span<float> values) const;
  void write_weight(const ParameterEntry& entry, std::span<const float> values);
  // Copies all weights as an evaluation reads them (averages), as layout() has them; collective.
  void read_evaluation_weights(std::span<float> flat);

  void check_replicas();  // compares the replicas of all ranks; see replica.h

  // A forward pass on lane 0, to run between begin_evaluation() and end_evaluation(). Null without
  // TowerTrainerOptions::sample_rows, and on ranks other than 0.
  ForwardPass* sampler() { return sampler_.get(); }

  uint64_t parameter_hash() const { return layout_.hash(weights()); }
  std::vector<uint64_t> tensor_hashes() const { return layout_.hashes(weights()); }
  std::optional<uint64_t> average_hash();  // collective; none without averaged weights
  // Returns the fp32 weights in host memory, valid until another method is called.
  const float* weights() const { return devices_->read_weights(); }
  Replica& replica(int device) { return devices_->replica(device); }  // one of this process
  const ParameterLayout& layout() const { return layout_; }
  const Placement& placement() const { return placement_; }
  ThreadStatus& status() { return devices_->status(); }
  const LossScaleState& loss_scale() const { return update_->loss_scale().state(); }
  std::optional<RecomputeInfo> recompute() const { return gradients_->recompute(); }

  // Return one entry per device of this rank: the plan from before the first step, what is in use
  // now, the most of each kind so far, and the limit (none: all of the device's memory).
  std::vector<MemoryByKind> planned_memory() const { return by_kind(&MemoryPool::planned); }
  std::vector<MemoryByKind> memory_in_use() const { return by_kind(&MemoryPool::in_use); }
  std::vector<MemoryByKind> peak_memory() const { return by_kind(&MemoryPool::peak); }
  std::vector<std::optional<size_t>> memory_limits() const;
  // Returns for each device whether its plan, and all plans in the same memory together, would fit
  // now. REQUIRES: plan_only.
  struct Room {
    std::optional<size_t> free;  // bytes that are free on the device; none: unknown
    bool fits = true;
  };
  std::vector<Room> memory_room() const;
  // Returns the text of the error if the planned memory does not fit; empty if it seems to fit.
  // free_share: the part of the devices' free memory that may be used; limits apply in full.
  std::string memory_shortage(double free_share = 1) const;

 private:
  void make_devices(const TowerTrainerOptions& options);
  void make_stages(const TowerTrainerOptions& options);
  void plan_memory();
  void allocate_memory();
  void initialize();
  // One entry per device of this process. use: MemoryPool::planned, for example.
  std::vector<MemoryByKind> by_kind(MemoryUse (MemoryPool::*use)() const) const;

  StepMetrics& metrics_of(int64_t step) {
    return metrics_[static_cast<size_t>(step) % metrics_.size()];
  }
  StepJob make_job(const Batch& batch, StepMetrics& metrics, int64_t done) const;
  StepOutcome result_of(StepMetrics& metrics) const;
  void run_step(int lane, const StepJob& job);
  void run_towers(int lane, const StepJob& job, const char* name = "step");
  void run_update(int lane, StepMetrics& metrics, const ParameterUpdate::Step& update);
  void complete_towers(StepMetrics& metrics);
  void judge_step(StepMetrics& metrics);
  ParameterUpdate::Step update_of(const StepMetrics& metrics) const;
  void add_earlier_batches(StepMetrics& metrics);
  void scale_gradients(double factor);
  void write_gradients(StepMetrics& metrics);
  void end_parts();
  bool rejects(int lane, const StepMetrics& metrics);
  void copy_squares(int lane, StepMetrics& metrics);
  void await_step(int lane, const StepMetrics& metrics);
  void await_next(int lane);
  void note_devices(StepMetrics& metrics);
  void share_metrics(StepMetrics& metrics);
  template <typename Body>
  void on_lanes(const Body& body);
  template <typename Body>
  void on_lanes_until_done(const Body& body);
  [[noreturn]] void fail_lane(int lane);
  bool abort_peers();
  void make_profiler_spans();
  template <typename Sink>
  void show_spans(const std::vector<std::unique_ptr<Sink>>& sinks);
  void record_step(int64_t step);
  void take_trace(int64_t step);
  void renew_replicas();
  void swap_average();

  RunConfig config_;  // set_optimizer() alone changes it
  Placement placement_;
  ProcessGroup* group_;
  ParameterLayout layout_;
  Ownership who_;
  // One per lane, then one per member of this process; null where no sink was given. Profilers see
  // all steps, recorders those of a trace. They are declared before the devices, whose threads show
  // them spans until they end.
  std::vector<std::unique_ptr<SpanSink>> profilers_;
  std::vector<std::unique_ptr<SpanRecorder>> recorders_;
  std::vector<TracedThread> traced_;
  int64_t traced_spans_ = 0, max_traced_spans_ = 0, traced_through_ = 0;
  std::unique_ptr<DeviceSet> devices_;
  std::unique_ptr<GradientStage> gradients_;
  std::unique_ptr<UpdateStage> update_;
  std::unique_ptr<StateTransfer> state_;
  std::unique_ptr<ForwardPass> sampler_;       // on lane 0
  std::array<StepMetrics, 2> metrics_;         // steps take turns; evaluations use the first
  std::unique_ptr<HostAllGather> all_gather_;  // gathers StepMetrics::shared
  StepJudge judge_;
  const DeviceMonitor* monitor_ = nullptr;
  int64_t rejected_steps_ = 0;
  StepContext context_;       // has the seed; each step fills in a copy
  struct OpenStep {           // between compute_gradients() and the end of the step
    int64_t batches = 0;      // 0: there is none
    bool on_host = false;     // gradients() has copied them
    bool overflowed = false;  // fp16's, in some batch
    std::chrono::steady_clock::time_point since;
    std::vector<float> gradients;  // these and what follows: of the batches before the newest
    std::vector<double> loss, score;
    int64_t samples = 0;
  } open_;
  int64_t begun_ = 0, finished_ = 0;  // numbers of steps
  bool averaged_ = false;             // whether averaged weights replace the weights
  std::atomic<bool> peers_aborted_{false};
};

}  // namespace spire
