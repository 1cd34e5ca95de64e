#include "tools/bench/runs/model_facts.h"

#include <utility>

#include "engine/graph/graph.h"
#include "engine/run/run_setup.h"
#include "engine/train/model_graph.h"
#include "tools/bench/runs/variants.h"
#include "tools/performance/op_work.h"

namespace spire {

ModelFacts model_facts(const RunConfig& config) {
  Observer silent;
  RunSetup setup(on_one_cpu(config), {}, silent);
  TowerTrainerOptions options = setup.trainer_options();
  ModelFacts facts{.model = setup.config.model.name, .batch_size = setup.placement.batch_size};
  auto build = [&options](int64_t batch, bool training) { return options.build(batch, training); };
  Graph graph = build(facts.batch_size, true);
  facts.parameters = total_of(layer_table(graph)).parameters;
  LoweredGraph lowered =
      lower_for_training(std::move(graph), DeviceId{}, make_layout(build, facts.batch_size), false);
  double flops = 0;
  for (const OpWork& work : work_of(lowered.graph, lowered.gradients)) flops += work.flops;
  facts.flops_per_sample = flops / static_cast<double>(facts.batch_size);
  return facts;
}

}  // namespace spire
