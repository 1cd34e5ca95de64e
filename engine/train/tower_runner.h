// What one lane does in a step: its towers one after another, each a run of a plan, their gradients
// summed on the way into the nodes of the fixed tree.
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
#include "engine/graph/cuda_graph_cache.h"
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
  bool record = false;            // towers' work on a GPU is recorded and replayed
  int steps_under_way = 1;        // that are given to the stream before the oldest is done, at most
  // Sample counts a tower can meet besides batch_size and 0: those of ragged last batches.
  std::vector<int64_t> ragged_train, ragged_eval;
  std::vector<FloatRange> buckets;  // of the reduction
};

// The towers' fp64 sums of one batch, one entry a tower of the run; a lane writes those of its own.
// In memory of the host that streams write (allocate_staging).
struct TowerSums {
  std::span<double> loss, score;
};

// What a lane meets the others through.
struct LaneContext {
  int lane = 0;
  ThreadStatus* board = nullptr;
  GradientReduction* reduction = nullptr;  // hears of completed buckets
  CrossTowerSums* vectors = nullptr;       // sums over towers inside a plan; null: there are none
};

class TowerRunner {
 public:
  // Compiles the plans; they run once this and the replica are allocated.
  TowerRunner(const LaneOptions& options, const GraphBuilder& build, const ParameterLayout& layout,
              Replica& replica);
  MemoryUse memory() const;
  void allocate();  // on the lane's thread

  // Forward and backward of the lane's towers. `context` holds the step's numbers; the tower's own
  // are filled in here. Sums are there, and a GPU has read the batch, once the lane's stream is
  // synchronised, as in evaluate().
  // Throws what kernels throw, PeerLost and BarrierBroken.
  void train(const Batch& batch, const StepContext& context, TowerSums& sums,
             const LaneContext& links);
  void evaluate(const Batch& batch, TowerSums& sums, const LaneContext& links);

  // The sums that the lane's gradient buffers hold after train(), in tower order. Before allocate()
  // their data is null.
  std::vector<NodeBuffer> nodes();
  // Counts of the sums over towers inside a training plan; empty: towers run one after another.
  const std::vector<int64_t>& tower_sums() const;

  std::optional<RecomputeInfo> recompute() const;  // none if not asked for
  bool has_blocks() const { return has_blocks_; }  // that recompute would compute anew

 private:
  // A plan for so many samples, and how long a row of each of its inputs is.
  struct Compiled {
    std::unique_ptr<Plan> plan;
    std::unique_ptr<CudaGraphCache> replay;  // null: the plan itself runs
    std::vector<size_t> row_bytes;
  };
  using Plans = std::map<int64_t, Compiled>;  // by samples
  class Progress;
  // One tower of the batch under way.
  struct Tower {
    Plan* plan = nullptr;  // null: no samples
    CudaGraphCache* replay = nullptr;
    Bindings bindings;
    size_t slot = 0;      // of the feed
    size_t position = 0;  // in the plan: the sum over towers it stands at
  };

  void compile(Plans& plans, int64_t samples, bool training, const GraphBuilder& build,
               const ParameterLayout& layout);
  void measure_inputs();
  static void run(const Tower& tower, PlanListener* listener = nullptr);
  Tower& prepare(size_t i, Plans& plans, const Batch& batch, StepContext context);
  void train_one_by_one(const Batch& batch, const StepContext& context, TowerSums& sums,
                        const LaneContext& links);
  void train_in_lockstep(const Batch& batch, const StepContext& context, TowerSums& sums,
                         const LaneContext& links);
  void sum_over_towers(size_t index, const LaneContext& links);
  static TowerVector vector_of(const Tower& tower);
  void finish(const Tower& tower, size_t i, TowerSums& sums);
  float* gradients(int buffer) { return gradients_[static_cast<size_t>(buffer)]->as<float>(); }
  Stream& stream() { return *options_.stream; }
  size_t feed_slots() const { return towers_.size() + 1; }
  size_t buffer_bytes() const { return static_cast<size_t>(total_floats_) * sizeof(float); }

  LaneOptions options_;
  Replica& replica_;
  int64_t total_floats_;
  Plans train_plans_, eval_plans_;
  LaneSchedule schedule_;
  size_t activation_bytes_ = 0, workspace_bytes_ = 0;  // of one tower
  std::vector<size_t> input_bytes_;                    // the most of each input
  size_t bytes_without_recompute_ = 0;                 // activation_bytes_ if nothing ran twice
  int repeated_nodes_ = 0;
  bool has_blocks_ = false;
  std::vector<std::unique_ptr<DeviceMemory>> arenas_;     // one; in lockstep one a tower
  std::vector<Tower> towers_;                             // the same
  std::vector<std::unique_ptr<DeviceMemory>> gradients_;  // schedule_.buffers, total_floats() each
  std::unique_ptr<LaneArithmetic> arithmetic_;
  std::unique_ptr<BatchUploader> feed_;
  std::vector<HostRows> rows_;                  // of the tower that is prepared
  std::unique_ptr<DeviceMemory> tower_vector_;  // a sum over towers on its way into their arenas
};

}  // namespace spire::inline training
