#include "engine/bench/model_facts.h"

#include "engine/graph/graph.h"
#include "engine/graph/passes.h"
#include "engine/run/run_setup.h"
#include "models/model.h"

namespace spire::inline bench {
namespace {

double flops_of(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->is_view()) continue;
    std::vector<TensorSpec> inputs, outputs;
    for (Value value : node.inputs) inputs.push_back(graph.spec(value));
    for (Value value : node.outputs) outputs.push_back(graph.spec(value));
    flops += 2 * static_cast<double>(node.op->multiply_adds(inputs, outputs));
  }
  return flops;
}

}  // namespace

ModelFacts model_facts(const RunConfig& config) {
  RunConfig here = config;  // on one CPU device, which gives the same shapes
  here.devices = {"cpu"};
  here.parameter_device = "auto";
  if (here.precision == RunConfig::Precision::fp16) here.precision = RunConfig::Precision::bf16;
  Observer silent;
  RunSetup setup(here, {}, silent);
  TrainerOptions options = setup.trainer_options();
  ModelFacts facts{.model = setup.config.model.name, .batch_size = setup.placement.batch_size};
  Graph graph =
      build_model(options.model, options.loss, options.input(facts.batch_size, true), true);
  facts.parameters = total_of(layer_table(graph)).parameters;
  std::vector<Value> gradients;
  for (const auto& [parameter, gradient] : differentiate(graph)) gradients.push_back(gradient);
  remove_dead_nodes(graph, gradients);
  facts.flops_per_sample = flops_of(graph) / static_cast<double>(facts.batch_size);
  return facts;
}

}  // namespace spire::inline bench
