#include <spire/train/forward_pass.h>

#include <spire/graph/passes.h>

namespace spire {

ForwardPass::ForwardPass(Graph graph, const LaneSpec& lane, const ParameterLayout& layout,
                         Replica& replica)
    : replica_(replica) {
  graph.keep_output("output");
  fuse_activations(graph);
  remove_dead_nodes(graph);
  output_ = graph.spec(graph.outputs().at("output"));
  bindings_.inputs.resize(graph.values_of(Role::input).size());
  PlanOptions options{
      .device = lane.device, .threads = lane.threads, .step = false, .gradients = {}};
  plan_ = std::make_unique<Plan>(std::move(graph), options, layout, replica.forms);
  arena_ = Buffer(plan_->arena_bytes());
}

void ForwardPass::copy_output(std::span<float> to) const {
  copy_floats(plan_->output("output", arena_.data()), output_.dtype, to);
}

const void* ForwardPass::run(const void* rows) {
  bindings_.weights = replica_.values();
  bindings_.packed = replica_.forms.data();
  bindings_.arena = arena_.data();
  bindings_.inputs[0] = rows;
  plan_->run(bindings_, {});
  return plan_->output("output", arena_.data());
}

}  // namespace spire
