#include "engine/bench/runs/model_facts.h"

#include "engine/bench/runs/variants.h"
#include "engine/graph/graph.h"
#include "engine/graph/passes.h"
#include "engine/run/op_work.h"
#include "engine/run/run_setup.h"
#include "models/model.h"

namespace spire::inline bench {

ModelFacts model_facts(const RunConfig& config) {
  Observer silent;
  RunSetup setup(on_one_cpu(config), {}, silent);
  TrainerOptions options = setup.trainer_options();
  ModelFacts facts{.model = setup.config.model.name, .batch_size = setup.placement.batch_size};
  Graph graph =
      build_model(options.model, options.loss, options.input(facts.batch_size, true), true);
  facts.parameters = total_of(layer_table(graph)).parameters;
  std::vector<ParameterGradient> gradients = differentiate(graph);
  std::vector<Value> kept;
  for (const auto& [parameter, gradient] : gradients) kept.push_back(gradient);
  remove_dead_nodes(graph, kept);
  double flops = 0;
  for (const OpWork& work : work_of(graph, gradients)) flops += work.flops;
  facts.flops_per_sample = flops / static_cast<double>(facts.batch_size);
  return facts;
}

}  // namespace spire::inline bench
