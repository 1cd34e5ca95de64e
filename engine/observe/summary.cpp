#include "engine/observe/summary.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "engine/base/write_file.h"

namespace spire::inline observe {
namespace {

using Json = nlohmann::ordered_json;

Json validation(const ValidationSummary& val) {
  if (!val.measured) return nullptr;
  std::string metric(name(val.metric.metric));
  return {{"loss", val.loss}, {metric, val.metric.value}, {"best_" + metric, val.best}};
}

// An empty map becomes {} instead of null.
Json by_kind(const std::map<std::string, int64_t>& bytes) {
  return bytes.empty() ? Json::object() : Json(bytes);
}

}  // namespace

std::string summary_json(const RunSummary& summary) {
  Json json = {{"steps", summary.steps},
               {"epochs", summary.epochs},
               {"train_loss", summary.train_loss},
               {"val", validation(summary.val)},
               {"samples_per_s", summary.samples_per_s},
               {"parameter_hash", summary.parameter_hash},
               {"devices", summary.devices},
               {"towers", summary.towers},
               {"processes", summary.processes},
               {"strategy", summary.strategy},
               {"seconds", summary.seconds},
               {"peak_memory_bytes", by_kind(summary.peak_memory_bytes)},
               {"planned_memory_bytes", by_kind(summary.planned_memory_bytes)},
               {"exit", summary.exit},
               {"stopped_by", summary.stopped_by},
               {"output", summary.output},
               {"checkpoint", summary.checkpoint},
               {"metrics", summary.metrics}};
  if (!summary.ema_hash.empty()) json["ema_hash"] = summary.ema_hash;
  // A path may hold bytes that are not UTF-8: replace them instead of throwing.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

SummaryFile::SummaryFile(std::filesystem::path path, Warn warn)
    : path_(std::move(path)), warn_(std::move(warn)) {}

// Creates and removes a temporary file, so that a bad path fails before the run.
void SummaryFile::on_start(const StartInfo&) {
  AtomicWriter(path_, Category::config);
}

void SummaryFile::on_end(const RunSummary& summary) {
  if (summary.output.empty()) return;
  try {
    write_file_atomically(path_, summary_json(summary), Category::unexpected);
  } catch (const Error& error) {
    lost_ = error.what();
    warn_(lost_);
  }
}

}  // namespace spire::inline observe
