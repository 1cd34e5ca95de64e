// Compiles a graph and runs it once, as a lane would.
#pragma once
#include <spire/graph/autodiff.h>
#include <spire/graph/passes.h>
#include <spire/graph/plan.h>

#include <cstring>
#include <map>

namespace spire {

struct GraphRun {
  double loss = 0;
  std::map<std::string, std::vector<float>> gradients;  // by parameter, contributions by state
};

struct RunChoices {
  bool fuse = true;
  unsigned char poison = 0;  // what the arena and gradients hold before the run
  int threads = 1;
};

// images: the graph's first input, fp32; labels: its second. Parameters hold their initial values.
inline GraphRun run_graph(Graph graph, const std::vector<float>& images,
                          const std::vector<int32_t>& labels, const RunChoices& choices = {}) {
  if (choices.fuse) fuse_activations(graph);
  auto gradients = differentiate(graph);
  std::vector<Value> keep;
  for (auto& g : gradients) keep.push_back(g.gradient);
  remove_dead_nodes(graph, keep);
  ParameterLayout layout(graph, gradients);
  PackedForms forms;
  Plan plan(std::move(graph), {.device = {}, .threads = choices.threads, .gradients = gradients},
            layout, forms);
  forms.allocate();
  auto floats = static_cast<size_t>(layout.total_floats());
  Buffer weights(floats * 4), gradient(floats * 4), arena(plan.arena_bytes());
  layout.initialize(1, weights.as<float>());
  forms.pack_for_step(weights.as<float>(), 0, 1);
  std::memset(arena.data(), choices.poison, arena.bytes());
  std::memset(gradient.data(), choices.poison, gradient.bytes());
  Bindings bindings{weights.as<float>(),
                    forms.data(),
                    gradient.as<float>(),
                    arena.data(),
                    {images.data(), labels.data()}};
  StepContext step{.seed = 1, .gradient_scale = 1.0f / static_cast<float>(labels.size())};
  plan.run(bindings, step);
  GraphRun run;
  run.loss = *static_cast<const double*>(plan.output("loss", arena.data()));
  for (const auto& entry : layout.entries()) {
    const float* begin = gradient.as<float>() + entry.offset;
    run.gradients[entry.name].assign(begin, begin + entry.elements());
  }
  return run;
}

}  // namespace spire
