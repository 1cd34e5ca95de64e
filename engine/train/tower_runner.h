// Runs the towers (shares of the global batch) of one lane, each as one run of a plan. As
// gradients become final it adds them up along the tree over towers (engine/update/tree.h).
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spire/observer.h>

#include "engine/data/loader.h"
#include "engine/device/spans.h"
#include "engine/graph/plan.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/device_set.h"
#include "engine/train/forward_pass.h"
#include "engine/train/lane_clock.h"
#include "engine/train/model_graph.h"
#include "engine/train/tensor_observer.h"
#include "engine/update/bucket_exchange.h"
#include "engine/update/cross_tower_sums.h"
#include "engine/update/lane_arithmetic.h"

namespace spire {

struct LaneOptions {           // of all lanes
  bool recompute = false;      // recompute activations of the model's blocks in backward
  bool record = false;         // run towers as recorded CUDA graphs
  bool shows_outputs = false;  // evaluate() may get an observer of the model's outputs
  int steps_under_way = 1;     // steps that the host may enqueue before the first is done
  // Numbers of samples that a tower may have in an incomplete last batch, if not batch_size or 0.
  std::vector<int64_t> ragged_train, ragged_eval;
  bool measures_ragged = true;  // engines of ragged training batches, where others are measured
  // Offsets in the gradient buffer: a CUDA graph ends where all gradients before one are final.
  std::vector<int64_t> graph_ends;
};

// Sums over the samples of each tower; one entry per tower of the run. A lane writes the entries of
// its own towers. In host memory that streams can write (allocate_staging).
struct TowerSums {
  std::span<double> loss, score;
};

struct LaneContext {  // what a lane shares with other lanes
  int lane = 0;
  ThreadStatus* status = nullptr;
  BucketExchange* exchange = nullptr;    // is told how far gradients are final; may be null
  CrossTowerSums* tower_sums = nullptr;  // null if plans have no sums over towers
  TensorObserver* observer = nullptr;    // sees the tensors of train(); may be null
  SpanSink* spans = nullptr;             // is shown what train() does; may be null
};

class TowerRunner {
 public:
  // Compiles the plans. They can run after allocate() and the allocation of the device's replica.
  // devices: outlives this. lane: of this process.
  TowerRunner(DeviceSet& devices, int lane, const LaneOptions& options, const GraphBuilder& build,
              const ParameterLayout& layout);
  MemoryUse memory() const;
  void allocate();  // call it on the lane's thread

  // Run the lane's towers: train() forward and backward, evaluate() forward. context: the step's
  // numbers; the runner sets those of each tower. clock: gets the parts copy, forward and backward.
  // Once the stream is synchronized, the sums are written and a GPU has read the batch. Throw what
  // kernels throw, PeerLost, BarrierBroken.
  void train(const Batch& batch, const StepContext& context, TowerSums& sums, LaneClock& clock,
             const LaneContext& shared);
  // outputs: sees the outputs of each tower; may be null.
  void evaluate(const Batch& batch, TowerSums& sums, const LaneContext& shared,
                OutputObserver* outputs);

  // Returns the lane's gradient buffers, in tower order: each holds after train() the sum of one
  // node of the tree. `data` is null before allocate().
  std::vector<NodeBuffer> nodes();
  // Lengths of the vectors that a training plan sums over all towers (sync batch norm, exact sums).
  // If there are any, the lane's towers run in lockstep, from one sum to the next; else one after
  // another.
  const std::vector<int64_t>& tower_sums() const;
  size_t forward_sums() const;  // how many of them are in forward

  std::optional<RecomputeInfo> recompute() const;  // none without LaneOptions::recompute
  bool has_blocks() const { return has_blocks_; }  // whether the model marks blocks to recompute

 private:
  struct Compiled {
    std::unique_ptr<Plan> plan;
    std::unique_ptr<CudaGraphCache> graphs;  // null: without LaneOptions::record
    std::vector<size_t> row_bytes;           // bytes per sample of each input
    TensorSpec output;                       // the model's, with LaneOptions::shows_outputs
  };
  using Plans = std::map<int64_t, Compiled>;  // number of samples -> plan
  class Watch;
  class BackwardMark;
  class Progress;
  struct Tower {           // a tower in the present batch
    Plan* plan = nullptr;  // null if the tower has no samples
    CudaGraphCache* graphs = nullptr;
    Bindings bindings;
    TensorSpec output;    // Compiled::output
    size_t slot = 0;      // slot of uploader_
    size_t position = 0;  // in lockstep: the plan's step at which it waits for a sum over towers
  };

  void compile(Plans& plans, int64_t samples, bool training, const GraphBuilder& build,
               const ParameterLayout& layout);
  void compile_ragged(const GraphBuilder& build, const ParameterLayout& layout);
  void measure_inputs();
  static void run(const Tower& tower, PlanListener* listener = nullptr,
                  PlanObserver* observer = nullptr);
  Tower& prepare(size_t i, Plans& plans, const Batch& batch, StepContext context);
  void train_prepared(size_t first, LaneClock& clock, const LaneContext& shared);
  void sum_over_towers(size_t index, const LaneContext& shared);
  static TowerVector vector_of(const Tower& tower);
  void show_output(const Tower& tower, size_t i, const Batch& batch, OutputObserver& outputs);
  void enter_copy(LaneClock& clock);
  void finish(const Tower& tower, size_t i, TowerSums& sums);
  void allocate_arenas();
  float* gradients(int buffer) { return gradients_[static_cast<size_t>(buffer)]; }
  int64_t batch_size() const { return placement_.batch_size; }
  size_t upload_slots() const { return towers_.size() + 1; }
  size_t buffer_bytes() const { return static_cast<size_t>(gradient_floats_) * sizeof(float); }
  // Of an arena, without the gradient buffer that it begins with.
  size_t activation_bytes() const { return arena_bytes_ - buffer_bytes(); }

  const LaneOptions options_;
  const Placement& placement_;
  const LaneSpec& spec_;
  const TowerRange range_;  // the lane's towers
  Stream& stream_;          // runs all work of the lane
  MemoryPool& memory_;
  CudaLibraries* const cuda_;  // null on a CPU
  Replica& replica_;
  int64_t gradient_floats_, trained_floats_;
  Plans train_plans_, eval_plans_;
  LaneSchedule schedule_;
  size_t arena_bytes_ = 0, workspace_bytes_ = 0;  // per tower
  std::vector<size_t> input_bytes_;               // largest size of each input
  size_t bytes_without_recompute_ = 0;            // arena_bytes_ without recompute
  int repeated_nodes_ = 0;
  bool has_blocks_ = false;
  std::vector<std::unique_ptr<DeviceMemory>> arenas_;  // one; in lockstep one per tower
  std::vector<Tower> towers_;                          // one; in lockstep all of the lane
  // The flat buffers that schedule_ numbers. The last ones, one per tower of towers_, are the
  // beginnings of the arenas, since no later tower runs while they hold gradients.
  std::vector<float*> gradients_;
  std::vector<std::unique_ptr<DeviceMemory>> sums_;  // the other gradient buffers
  std::unique_ptr<LaneArithmetic> arithmetic_;
  std::unique_ptr<BatchUploader> uploader_;
  std::unique_ptr<OutputReader> output_reader_;  // null without LaneOptions::shows_outputs
  std::vector<TowerRows> rows_;                  // rows of the tower that prepare() works on
  std::unique_ptr<DeviceMemory> tower_vector_;   // receives a sum over towers for the arenas
};

}  // namespace spire
