// Runs the towers of one lane: each tower is one run of a plan; gradients are added into the nodes
// of the fixed tree (engine/collective/tree.h) as they become final.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spire/observer.h>

#include "engine/collective/cross_tower_sums.h"
#include "engine/collective/gradient_reduction.h"
#include "engine/collective/lane_arithmetic.h"
#include "engine/data/loader.h"
#include "engine/device/lane_team.h"
#include "engine/graph/plan.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/model_graph.h"
#include "engine/train/replica.h"

namespace spire::inline training {

struct LaneOptions {
  TowerRange range;        // the towers it hosts
  int towers = 1;          // of the run
  int64_t batch_size = 1;  // samples a tower
  Reduction reduction = Reduction::invariant;
  bool recompute = false;  // the inside of blocks, in backward
  LaneSpec spec;
  MemoryPool* memory = nullptr;   // of its device; outlives the lane
  Stream* stream = nullptr;       // all its work goes there; outlives the lane
  CudaLibraries* cuda = nullptr;  // of its device, if that is a GPU; outlives the lane
  bool record = false;            // towers run as recorded CUDA graphs
  int steps_under_way = 1;        // steps the stream may hold at a time
  // Sample counts of towers besides batch_size and 0: those of ragged last batches.
  std::vector<int64_t> ragged_train, ragged_eval;
  std::vector<FloatRange> buckets;  // of the reduction
};

// Sums of one batch, fp64, one entry a tower of the run; a lane writes its towers' entries. In host
// memory that streams write (allocate_staging).
struct TowerSums {
  std::span<double> loss, score;
};

struct LaneContext {  // shared with the other lanes
  int lane = 0;
  ThreadStatus* status = nullptr;
  GradientReduction* reduction = nullptr;  // is notified of final gradients
  CrossTowerSums* tower_sums = nullptr;    // sums over towers inside a plan; null: there are none
};

class TowerRunner {
 public:
  // Compiles the plans, which run once this and the replica are allocated.
  TowerRunner(const LaneOptions& options, const GraphBuilder& build, const ParameterLayout& layout,
              Replica& replica);
  MemoryUse memory() const;
  void allocate();  // on the lane's thread

  // Runs forward and backward of the lane's towers. context: the step's numbers, without a tower's.
  // Sums are written, and a GPU has read the batch, once the lane's stream is synchronized, as in
  // evaluate(). Throws what kernels throw, PeerLost and BarrierBroken.
  void train(const Batch& batch, const StepContext& context, TowerSums& sums,
             const LaneContext& shared);
  void evaluate(const Batch& batch, TowerSums& sums, const LaneContext& shared);

  // Nodes of the tree whose sums are in the lane's gradient buffers after train(), in tower order;
  // data is null before allocate().
  std::vector<NodeBuffer> nodes();
  // Lengths of the sums over towers inside a training plan; none: towers run one after another.
  const std::vector<int64_t>& tower_sums() const;

  std::optional<RecomputeInfo> recompute() const;  // none if not asked for
  bool has_blocks() const { return has_blocks_; }  // blocks that recompute could apply to

 private:
  struct Compiled {  // a plan for a number of samples
    std::unique_ptr<Plan> plan;
    std::unique_ptr<CudaGraphCache> graphs;  // null: the plan runs its kernels itself
    std::vector<size_t> row_bytes;           // of a row of each of its inputs
  };
  using Plans = std::map<int64_t, Compiled>;  // by samples
  class Progress;
  struct Tower {           // of the batch under way
    Plan* plan = nullptr;  // null: no samples
    CudaGraphCache* graphs = nullptr;
    Bindings bindings;
    size_t slot = 0;      // of the uploader
    size_t position = 0;  // in lockstep: the sum over towers at which the plan stopped
  };

  void compile(Plans& plans, int64_t samples, bool training, const GraphBuilder& build,
               const ParameterLayout& layout);
  void measure_inputs();
  static void run(const Tower& tower, PlanListener* listener = nullptr);
  Tower& prepare(size_t i, Plans& plans, const Batch& batch, StepContext context);
  void train_one_by_one(const Batch& batch, const StepContext& context, TowerSums& sums,
                        const LaneContext& shared);
  void train_in_lockstep(const Batch& batch, const StepContext& context, TowerSums& sums,
                         const LaneContext& shared);
  void sum_over_towers(size_t index, const LaneContext& shared);
  static TowerVector vector_of(const Tower& tower);
  void finish(const Tower& tower, size_t i, TowerSums& sums);
  float* gradients(int buffer) { return gradients_[static_cast<size_t>(buffer)]->as<float>(); }
  Stream& stream() { return *options_.stream; }
  size_t upload_slots() const { return towers_.size() + 1; }
  size_t buffer_bytes() const { return static_cast<size_t>(total_floats_) * sizeof(float); }

  LaneOptions options_;
  Replica& replica_;
  int64_t total_floats_;
  Plans train_plans_, eval_plans_;
  LaneSchedule schedule_;
  size_t activation_bytes_ = 0, workspace_bytes_ = 0;  // of one tower
  std::vector<size_t> input_bytes_;                    // largest of each input
  size_t bytes_without_recompute_ = 0;                 // activation_bytes_ if nothing ran twice
  int repeated_nodes_ = 0;
  bool has_blocks_ = false;
  std::vector<std::unique_ptr<DeviceMemory>> arenas_;     // one; in lockstep one a tower
  std::vector<Tower> towers_;                             // the same
  std::vector<std::unique_ptr<DeviceMemory>> gradients_;  // schedule_.buffers, total_floats() each
  std::unique_ptr<LaneArithmetic> arithmetic_;
  std::unique_ptr<BatchUploader> uploader_;
  std::vector<HostRows> rows_;                  // of the tower that is prepared
  std::unique_ptr<DeviceMemory> tower_vector_;  // a sum over towers, then copied to the arenas
};

}  // namespace spire::inline training
