// What one lane does in a step: its towers one after another, each a run of a plan, their gradients
// summed on the way into the nodes of the fixed tree.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <spire/collective/tree.h>
#include <spire/data/loader.h>
#include <spire/device/lane_team.h>
#include <spire/graph/plan.h>
#include <spire/train/replica.h>

namespace spire {

// Builds the graph of one tower for `batch` samples, training or evaluation form. Its inputs are
// the images and the labels, in this order; its outputs "loss" and "correct" are fp64 sums.
using GraphBuilder = std::function<Graph(int64_t batch, bool training)>;

struct LaneOptions {
  TowerRange range;        // the towers it hosts
  int towers = 1;          // of the run
  int64_t batch_size = 1;  // samples a tower
  LaneSpec spec;
  // Sample counts a tower can meet besides batch_size and 0: those of ragged last batches.
  std::vector<int64_t> ragged_train, ragged_eval;
};

// The towers' sums of one batch; a lane writes the entries of its own towers.
struct TowerSums {
  std::vector<double> loss, correct;  // one a tower
};

class TowerLane {
 public:
  // Compiles the plans; the replica's forms must be allocated before the first run.
  TowerLane(const LaneOptions& options, const GraphBuilder& build, const ParameterLayout& layout,
            Replica& replica);

  // Forward and backward of the lane's towers. `context` holds the step's numbers; the tower's own
  // are filled in here.
  void train(const Batch& batch, StepContext context, TowerSums& sums);
  void evaluate(const Batch& batch, TowerSums& sums);

  // The tree nodes whose sums the lane's buffers hold after train().
  std::vector<TreeSum::Leaf> leaves() const;
  float* first_gradients() { return gradients_.front().as<float>(); }

  size_t activation_bytes() const { return activation_bytes_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t gradient_bytes() const;

 private:
  using Plans = std::map<int64_t, std::unique_ptr<Plan>>;  // by samples
  void compile(Plans& plans, int64_t samples, bool training, const GraphBuilder& build,
               const ParameterLayout& layout);
  void run(Plans& plans, const Batch& batch, int tower, float* gradients, StepContext context,
           TowerSums& sums);

  LaneOptions options_;
  LaneSchedule schedule_;
  Replica& replica_;
  int64_t total_floats_;
  Plans train_plans_, eval_plans_;
  size_t activation_bytes_ = 0, workspace_bytes_ = 0, image_bytes_ = 0;
  Buffer arena_;
  std::vector<Buffer> gradients_;  // schedule_.buffers of them, total_floats() each
  Bindings bindings_;
};

}  // namespace spire
