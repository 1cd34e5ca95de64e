// plan() and check(): a run compiled without training it, and its report as text.
#include <spire/plan.h>

#include "engine/graph/graph.h"
#include "engine/graph/passes.h"
#include "engine/observe/formatting.h"
#include "engine/observe/report_text.h"
#include "engine/run/initial/initial_weights.h"
#include "engine/run/run_report.h"
#include "engine/run/run_setup.h"

namespace spire {
namespace {

// Lists the layers as a tower trains them: fused ops are one row.
std::vector<LayerRow> layers_of(const TowerTrainerOptions& options, int64_t batch_size) {
  Graph graph = options.build(batch_size, true);
  fuse_activations(graph);
  return layer_table(graph);
}

// Returns a row of the table. Zeros stay blank: a view has no parameters, a relu no products.
std::vector<std::string> cells_of(const LayerRow& row, int64_t batch_size) {
  auto count_or_blank = [](int64_t count) { return count ? count_text(count) : ""; };
  auto bytes = static_cast<int64_t>(row.activation_bytes);
  return {row.name,
          row.op,
          row.op.empty() ? "" : to_string(Shape(row.output_shape)),
          count_or_blank(row.parameters),
          count_or_blank(row.multiply_adds / batch_size),
          bytes ? bytes_text(bytes) : ""};
}

std::string layers_text(const std::vector<LayerRow>& layers, int64_t batch_size) {
  TextTable table = {
      {"layer", "op", "output", "parameters", "multiply-adds a sample", "activations"}};
  for (const LayerRow& row : layers) table.push_back(cells_of(row, batch_size));
  LayerRow total = total_of(layers);
  table.push_back(cells_of(total, batch_size));
  return aligned_text(table) + fmt::format("FLOPs of a sample, forward: {} = 2 x multiply-adds\n\n",
                                           count_text(2 * total.multiply_adds / batch_size));
}

// A plan has one process, whose devices are all.
void add_room(StartInfo& start, const TowerTrainer& trainer) {
  std::vector<TowerTrainer::Room> rooms = trainer.memory_room();
  for (size_t d = 0; d < rooms.size(); ++d) {
    if (rooms[d].free) start.devices[d].memory_free = static_cast<int64_t>(*rooms[d].free);
    start.devices[d].fits_now = rooms[d].fits;
  }
}

// Collects the warnings of a setup for the report.
class Warnings : public Observer {
 public:
  void on_warning(std::string_view text) override { warnings.emplace_back(text); }
  std::vector<std::string> warnings;
};

}  // namespace

PlanReport plan(const RunConfig& config) {
  Warnings listener;
  RunSetup setup(config, {}, listener);
  TowerTrainerOptions options = setup.trainer_options();
  options.plan_only = true;
  std::string weights = match_initial_weights(setup, listener);
  TowerTrainer trainer(options, setup.placement);
  setup.keep_tuning(listener);
  StartInfo start = start_info(setup, trainer, setup.total_steps());
  start.initial_weights = weights;
  add_room(start, trainer);
  return {std::move(start), layers_of(options, setup.placement.batch_size),
          trainer.memory_shortage(), std::move(listener.warnings)};
}

std::string to_text(const PlanReport& report) {
  if (report.layers.empty()) return start_block(report.start);
  return layers_text(report.layers, report.start.batch_size) + start_block(report.start);
}

PlanReport check(const RunConfig& config) {
  PlanReport report = plan(config);
  if (!report.shortage.empty()) throw Error(Category::out_of_memory, report.shortage);
  return report;
}

}  // namespace spire
