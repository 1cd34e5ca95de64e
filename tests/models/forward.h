// Computes the output of a graph in evaluation form.
#pragma once
#include <vector>

#include "engine/device/device_memory.h"
#include "engine/graph/passes.h"
#include "engine/graph/plan.h"

namespace spire {

// rows: of the graph's first input, the only one on which the output depends. weights: a flat
// buffer by `layout`, which has all parameters and running statistics of the graph.
inline std::vector<float> forward(Graph graph, const void* rows, const ParameterLayout& layout,
                                  const float* weights) {
  graph.keep_output("output");
  fuse_activations(graph);
  remove_dead_nodes(graph);
  auto count = static_cast<size_t>(graph.spec(graph.outputs().at("output")).shape.elements());
  Bindings bindings;
  bindings.inputs.resize(graph.values_of(Role::input).size());
  bindings.inputs[0] = rows;
  PackedWeights forms;
  Plan plan(std::move(graph), {.device = {}, .threads = 1, .step = false, .gradients = {}}, layout,
            forms);
  MemoryPool memory{DeviceId{}};
  forms.allocate(memory);
  Buffer arena(plan.arena_bytes());
  forms.pack_for_evaluation(weights, 0, 1, *make_stream({}));
  bindings.weights = weights;
  bindings.packed = forms.data();
  bindings.arena = arena.data();
  StepContext step;
  bindings.step = &step;
  plan.run(bindings);
  auto output = static_cast<const float*>(plan.output("output", arena.data()));
  return {output, output + count};
}

// With the initial weights of a graph without running statistics.
inline std::vector<float> forward(Graph graph, const void* rows) {
  std::vector<ParameterGradient> parameters;
  for (Value value : graph.values_of(Role::parameter)) parameters.push_back({value, {}});
  ParameterLayout layout(graph, parameters);
  Buffer weights(static_cast<size_t>(layout.total_floats()) * 4);
  layout.initialize(1, weights.as<float>());
  return forward(std::move(graph), rows, layout, weights.as<float>());
}

}  // namespace spire
