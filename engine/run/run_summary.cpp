#include "engine/run/run_summary.h"

#include <filesystem>
#include <limits>

#include "engine/base/hash.h"
#include "engine/config/words.h"

namespace spire::inline run {
namespace {

ValidationSummary validation_of(const TrainingProgress& progress, Metric metric) {
  ValidationSummary summary;
  summary.measured = progress.evaluated_step >= 0;
  summary.loss = progress.evaluated_loss;
  summary.metric = {metric, progress.evaluated_metric};
  // NaN where all evaluations were NaN, so that none was the best.
  bool none = progress.best_step < 0 && summary.measured;
  summary.best = none ? std::numeric_limits<double>::quiet_NaN() : progress.best_metric;
  return summary;
}

std::map<std::string, int64_t> sum_by_kind(const std::vector<MemoryByKind>& devices) {
  std::map<std::string, int64_t> sums;
  for (const MemoryByKind& device : devices)
    for (const auto& [kind, bytes] : device) sums[kind] += bytes;
  return sums;
}

}  // namespace

RunSummary summarize(const RunContext& run, const RunOutput& output,
                     const RunCheckpoints& checkpoints, int exit, const std::string& stopped_by,
                     const std::string& ema_hash) {
  const RunSetup& setup = run.setup;
  RunSummary summary = run.clock.summary();
  summary.steps = run.progress.step;
  summary.epochs = run.clock.epoch(run.progress.step);
  summary.val = validation_of(run.progress, setup.metric());
  summary.parameter_hash = hex(run.trainer.parameter_hash());
  summary.ema_hash = ema_hash;
  for (const PlacedDevice& device : setup.placement.devices)
    summary.devices.push_back(to_string(device.id));
  summary.towers = setup.placement.towers;
  summary.processes = run.world.size();
  summary.strategy = word_of(setup.config.strategy);
  summary.peak_memory_bytes = sum_by_kind(run.trainer.peak_memory());
  summary.peak_memory_bytes["host_rss"] = peak_resident_bytes();
  summary.planned_memory_bytes = sum_by_kind(run.trainer.planned_memory());
  summary.exit = exit;
  summary.stopped_by = stopped_by;
  if (output.is_writable()) {
    summary.output = setup.config.output;
    summary.checkpoint = checkpoints.path();
    summary.metrics = (std::filesystem::path(setup.config.output) / "metrics.jsonl").string();
  }
  return summary;
}

}  // namespace spire::inline run
