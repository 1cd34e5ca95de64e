// A model that only runs forward: from rows of its input to its output, on one lane.
#pragma once
#include <spire/device/lane_team.h>
#include <spire/graph/plan.h>
#include <spire/train/replica.h>

namespace spire {

class ForwardPass {
 public:
  // graph: in evaluation form, with the output "output"; all its other outputs are dropped. The
  // replica outlives this; its forms are allocated after this is made, and packed for evaluation
  // before it runs.
  ForwardPass(Graph graph, const LaneSpec& lane, const ParameterLayout& layout, Replica& replica);

  // On the lane's thread. rows: of the graph's first input, as many as it was built for. Returns
  // the output, of output()'s shape and dtype; it stays until the next run.
  const void* run(const void* rows);
  const TensorSpec& output() const { return output_; }
  // The first `to.size()` numbers of the last run's output, as fp32.
  void copy_output(std::span<float> to) const;

  size_t bytes() const { return arena_.bytes(); }

 private:
  Replica& replica_;
  TensorSpec output_;
  std::unique_ptr<Plan> plan_;
  Buffer arena_;
  Bindings bindings_;
};

}  // namespace spire
