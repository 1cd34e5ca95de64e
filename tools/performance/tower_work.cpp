#include "tools/performance/tower_work.h"

#include <utility>

#include "engine/update/optimizer.h"
#include "engine/update/ownership.h"

namespace spire {
namespace {

// Where no GPU need be; bf16 stands for fp16.
RunConfig on_one_cpu(RunConfig config) {
  config.devices = {"cpu"};
  config.parameter_device = "auto";
  if (config.precision == RunConfig::Precision::fp16) config.precision = RunConfig::Precision::bf16;
  return config;
}

}  // namespace

double TowerWork::flops_per_sample() const {
  double flops = 0;
  for (const OpWork& op : ops()) flops += op.flops;
  return flops / static_cast<double>(batch);
}

TowerWork tower_work(const RunSetup& setup, bool once) {
  TowerTrainerOptions options = setup.trainer_options();
  auto build = [&options](int64_t batch, bool training) { return options.build(batch, training); };
  int64_t batch = setup.placement.batch_size;
  Graph graph = build(batch, true);
  int64_t parameters = total_of(layer_table(graph)).parameters;
  ParameterLayout layout = make_layout(build, batch);
  LoweredGraph lowered =
      lower_for_training(std::move(graph), DeviceId{}, layout, recomputes(options.config) && !once);
  return {.model = setup.config.model.name,
          .batch = batch,
          .parameters = parameters,
          .slots = std::ssize(slot_names(options.config.optimizer)),
          .precision = compute_dtype(options.config),
          .layout = layout,
          .lowered = std::move(lowered)};
}

TowerWork tower_work(const RunConfig& config, bool once) {
  Observer silent;
  return tower_work(RunSetup(on_one_cpu(config), {}, silent), once);
}

}  // namespace spire
