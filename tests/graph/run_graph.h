// Compiles a graph and runs it once, as a lane would.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>

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

// Random images of so many values each, and a label for each.
struct RandomImages {
  std::vector<float> images;
  std::vector<int32_t> labels = {0, 2, 1, 2, 0, 1};

  RandomImages(int64_t count, int64_t values) : images(static_cast<size_t>(count * values)) {
    labels.resize(static_cast<size_t>(count));
    RandomStream random(9, Purpose::initialize);
    for (size_t i = 0; i < images.size(); ++i) images[i] = 2 * random.uniform(i) - 1;
  }
};

inline int64_t op_count(const Graph& graph, std::string_view name) {
  return std::ranges::count_if(graph.nodes(),
                               [=](const Node& node) { return node.op->name() == name; });
}

inline std::vector<std::string_view> op_names(const Graph& graph) {
  std::vector<std::string_view> names;
  for (const Node& node : graph.nodes()) names.push_back(node.op->name());
  return names;
}

struct Differentiated {
  Graph graph;
  std::vector<ParameterGradient> gradients;
};

// Adds the backward, and leaves out what no gradient needs.
inline Differentiated differentiated(Graph graph, bool fuse = true) {
  if (fuse) fuse_activations(graph);
  auto gradients = differentiate(graph);
  std::vector<Value> keep;
  for (const ParameterGradient& each : gradients) keep.push_back(each.gradient);
  remove_dead_nodes(graph, keep);
  return {std::move(graph), std::move(gradients)};
}

struct RunChoices {
  bool fuse = true;
  unsigned char poison = 0;  // what the arena and gradients hold before the run
  int threads = 1;
  bool recompute = false;
  bool over_gradients = false;  // one buffer for the arena and the gradients
  int64_t step = 0;
  DeviceId device = {};  // a GPU's graphs have no op that a library computes
  // Writes the values of parameters and states in place of their initial ones.
  std::function<void(const ParameterEntry& entry, std::span<float> values)> fill = {};
};

inline std::unique_ptr<DeviceMemory> moved_to(DeviceId device, const void* host, size_t bytes) {
  auto memory = allocate_memory(device, bytes);
  memory->write(host, bytes);
  return memory;
}

// inputs: those of the graph, in their order. Parameters hold their initial values. Gradients are
// of the loss divided by `samples`.
inline GraphRun run_graph(Graph model, std::vector<const void*> inputs, size_t samples,
                          const RunChoices& choices = {}) {
  auto [graph, gradients] = differentiated(std::move(model), choices.fuse);
  if (choices.recompute) recompute_blocks(graph);
  ParameterLayout layout(graph, gradients);
  auto output = graph.outputs().find("output");
  int64_t output_elements =
      output == graph.outputs().end() ? 0 : graph.spec(output->second).shape.elements();
  bool has_score = graph.outputs().contains("score");
  PackedWeights forms;
  std::vector<TensorSpec> columns;
  for (Value input : graph.values_of(Role::input)) columns.push_back(graph.spec(input));
  DeviceId device = choices.device;
  make_current(device);
  Plan plan(std::move(graph),
            {.device = device,
             .threads = choices.threads,
             .gradients = gradients,
             .over_gradients = choices.over_gradients},
            layout, forms);
  MemoryPool memory{device};
  forms.allocate(memory);
  auto floats = static_cast<size_t>(layout.total_floats());
  std::vector<float> values(floats);
  if (!choices.fill) layout.initialize(1, values.data());
  for (const auto& entry : layout.entries()) {
    if (choices.fill)
      choices.fill(entry, {values.data() + entry.offset, static_cast<size_t>(entry.elements())});
  }
  auto weights = moved_to(device, values.data(), floats * 4);
  std::vector<std::byte> poison(std::max(floats * 4, plan.arena_bytes()),
                                std::byte{choices.poison});
  auto gradient = moved_to(device, poison.data(), floats * 4);
  auto arena = moved_to(device, poison.data(), plan.arena_bytes());
  auto stream = make_stream(device);
  forms.pack_for_step(weights->as<float>(), 0, 1, *stream);
  forms.pack_frozen(weights->as<float>(), 0, 1, *stream);
  DeviceMemory& written = choices.over_gradients ? *arena : *gradient;
  StepContext context{
      .seed = 1, .step = choices.step, .gradient_scale = 1.0f / static_cast<float>(samples)};
  auto step = moved_to(device, &context, sizeof context);
  Bindings bindings{
      weights->as<float>(), forms.data(), written.as<float>(), arena->as<std::byte>(), {}};
  std::vector<std::unique_ptr<DeviceMemory>> batch;
  for (size_t i = 0; i < inputs.size(); ++i) {
    batch.push_back(moved_to(device, inputs[i], columns[i].bytes()));
    bindings.inputs.push_back(batch.back()->data());
  }
  bindings.step = step->as<StepContext>();
  bindings.stream = stream->native();
  plan.run(bindings);
  auto read = [&](const char* name, void* to, size_t bytes) {
    const auto* at = static_cast<const std::byte*>(plan.output(name, bindings.arena));
    arena->read(to, bytes, static_cast<size_t>(at - bindings.arena));
  };
  GraphRun run;
  run.arena_bytes = plan.activation_bytes();
  read("loss", &run.loss, sizeof run.loss);
  if (has_score) read("score", &run.score, sizeof run.score);
  if (output_elements > 0) {
    run.output.resize(static_cast<size_t>(output_elements));
    read("output", run.output.data(), run.output.size() * sizeof(float));
  }
  for (const auto& entry : layout.entries_with_gradients()) {
    std::vector<float>& own = run.gradients[entry.name];
    own.resize(static_cast<size_t>(entry.elements()));
    written.read(own.data(), own.size() * sizeof(float),
                 static_cast<size_t>(entry.offset) * sizeof(float));
  }
  return run;
}

// images: the graph's first input, fp32; labels: its second, one a sample.
inline GraphRun run_graph(Graph graph, const std::vector<float>& images,
                          const std::vector<int32_t>& labels, const RunChoices& choices = {}) {
  return run_graph(std::move(graph), {images.data(), labels.data()}, labels.size(), choices);
}

}  // namespace spire
