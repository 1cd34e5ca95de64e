#include "engine/train/model_graph.h"

#include <utility>

#include "engine/graph/passes.h"
#include "engine/graph/plan.h"

namespace spire {

DType compute_dtype(const RunConfig& config) {
  if (config.precision == RunConfig::Precision::bf16) return DType::bf16;
  return config.precision == RunConfig::Precision::fp16 ? DType::f16 : DType::f32;
}

bool recomputes(const RunConfig& config) {
  return config.memory.recompute == MemoryConfig::Recompute::blocks;
}

// Backward completes gradients in another order where activations are fused into the ops before
// them, so the layout comes from the fused graph, as the plans do.
ParameterLayout make_layout(const GraphBuilder& build, int64_t batch) {
  Graph graph = build(batch, true);
  fuse_activations(graph);
  auto gradients = differentiate(graph);
  return ParameterLayout(graph, gradients);
}

LoweredGraph lower_for_evaluation(Graph graph, DeviceId device) {
  fuse_activations(graph);
  remove_dead_nodes(graph);
  pad_rows(graph, device);
  return {.graph = std::move(graph), .gradients = {}};
}

LoweredGraph lower_for_training(Graph graph, DeviceId device, const ParameterLayout& layout,
                                bool recompute) {
  fuse_activations(graph);
  LoweredGraph lowered{.graph = std::move(graph), .gradients = {}};
  lowered.gradients = differentiate(lowered.graph);
  lowered.graph.drop_output("output");  // nobody reads it: its gradient may be written over it
  // Gradients are no outputs of the graph, but a plan writes them to the gradient buffer.
  std::vector<Value> keep;
  for (const auto& [parameter, gradient] : lowered.gradients) keep.push_back(gradient);
  remove_dead_nodes(lowered.graph, keep);
  pad_rows(lowered.graph, device);
  if (recompute) {
    // The start report says how much recomputation saves of the arena.
    BufferAssignment before(lowered.graph, lowered.gradients, layout, true);
    lowered.bytes_without_recompute = before.arena_bytes();
    lowered.repeated_nodes = recompute_blocks(lowered.graph);
  }
  return lowered;
}

}  // namespace spire
