// Compiles a graph and runs it once, as a lane would.
#pragma once
#include <cstring>
#include <functional>
#include <map>

#include "engine/graph/graph.h"
#include "engine/graph/passes.h"
#include "engine/graph/plan.h"

namespace spire {

struct GraphRun {
  double loss = 0, score = 0;                           // the score, if the graph has one
  std::vector<float> output;                            // the graph's, if it has one, fp32
  size_t arena_bytes = 0;                               // without workspace
  std::map<std::string, std::vector<float>> gradients;  // by parameter, contributions by state
};

struct RunChoices {
  bool fuse = true;
  unsigned char poison = 0;  // what the arena and gradients hold before the run
  int threads = 1;
  bool recompute = false;
  bool over_gradients = false;  // one buffer for the arena and the gradients
  int64_t step = 0;
  // Writes the values of parameters and states in place of their initial ones.
  std::function<void(const ParameterEntry& entry, std::span<float> values)> fill = {};
};

// inputs: those of the graph, in their order. Parameters hold their initial values. Gradients are
// of the loss divided by `samples`.
inline GraphRun run_graph(Graph graph, std::vector<const void*> inputs, size_t samples,
                          const RunChoices& choices = {}) {
  if (choices.fuse) fuse_activations(graph);
  auto gradients = differentiate(graph);
  std::vector<Value> keep;
  for (auto& g : gradients) keep.push_back(g.gradient);
  remove_dead_nodes(graph, keep);
  if (choices.recompute) recompute_blocks(graph);
  ParameterLayout layout(graph, gradients);
  auto output = graph.outputs().find("output");
  int64_t output_elements =
      output == graph.outputs().end() ? 0 : graph.spec(output->second).shape.elements();
  bool has_score = graph.outputs().contains("score");
  PackedWeights forms;
  Plan plan(std::move(graph),
            {.device = {},
             .threads = choices.threads,
             .gradients = gradients,
             .over_gradients = choices.over_gradients},
            layout, forms);
  MemoryPool memory{DeviceId{}};
  forms.allocate(memory);
  auto floats = static_cast<size_t>(layout.total_floats());
  Buffer weights(floats * 4), gradient(floats * 4), arena(plan.arena_bytes());
  if (!choices.fill) layout.initialize(1, weights.as<float>());
  for (const auto& entry : layout.entries()) {
    float* values = weights.as<float>() + entry.offset;
    if (choices.fill) choices.fill(entry, {values, static_cast<size_t>(entry.elements())});
  }
  forms.pack_for_step(weights.as<float>(), 0, 1, *make_stream({}));
  forms.pack_frozen(weights.as<float>(), 0, 1, *make_stream({}));
  std::memset(arena.data(), choices.poison, arena.bytes());
  std::memset(gradient.data(), choices.poison, gradient.bytes());
  const Buffer& written = choices.over_gradients ? arena : gradient;
  auto* gradients_begin = const_cast<float*>(written.as<float>());
  Bindings bindings{weights.as<float>(), forms.data(), gradients_begin, arena.data(),
                    std::move(inputs)};
  StepContext step{
      .seed = 1, .step = choices.step, .gradient_scale = 1.0f / static_cast<float>(samples)};
  bindings.step = &step;
  plan.run(bindings);
  GraphRun run;
  run.arena_bytes = plan.activation_bytes();
  run.loss = *static_cast<const double*>(plan.output("loss", arena.data()));
  if (has_score) run.score = *static_cast<const double*>(plan.output("score", arena.data()));
  if (output_elements > 0) {
    const auto* first = static_cast<const float*>(plan.output("output", arena.data()));
    run.output.assign(first, first + output_elements);
  }
  for (const auto& entry : layout.entries_with_gradients()) {
    const float* begin = gradients_begin + entry.offset;
    run.gradients[entry.name].assign(begin, begin + entry.elements());
  }
  return run;
}

// images: the graph's first input, fp32; labels: its second, one a sample.
inline GraphRun run_graph(Graph graph, const std::vector<float>& images,
                          const std::vector<int32_t>& labels, const RunChoices& choices = {}) {
  return run_graph(std::move(graph), {images.data(), labels.data()}, labels.size(), choices);
}

}  // namespace spire
