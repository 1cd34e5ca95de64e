#include "engine/run/run_warnings.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "engine/base/message_words.h"
#include "engine/config/text.h"
#include "engine/device/gpu_requirements.h"

namespace spire::inline run {
namespace {

// A resumed run may have other values of these keys, but its result differs from that of a run
// which was never interrupted.
void warn_of_changed_config(const RunSetup& setup, Observer& observer) {
  RunConfig before;
  try {
    before = parse_config({{"config", setup.resumed->state.config_yaml}}, {}).config;
  } catch (const Error&) {
    return;  // written by a program with other keys
  }
  std::vector<std::string> changes;
  for (const Field& field : schema()) {
    if (!field.shapes_result) continue;
    std::string was = value_text(field, before), is = value_text(field, setup.config);
    if (is != was) changes.push_back(fmt::format("{} is {}, was {}", field.path, is, was));
  }
  if (changes.empty()) return;
  observer.on_warning(
      fmt::format("the config changed since {}: {}; the result will differ from a run without "
                  "the change",
                  setup.resumed->path.string(), fmt::join(changes, "; ")));
}

}  // namespace

void warn_of_changes(const RunSetup& setup, Observer& observer) {
  if (!setup.resumed) return;
  warn_of_changed_config(setup, observer);
  std::string changes = changed_versions(setup.resumed->state.versions, setup.versions);
  if (changes.empty()) return;
  observer.on_warning(
      fmt::format("libraries changed since {}: {}; the result may differ in the last bits from a "
                  "run with the same libraries",
                  setup.resumed->path.string(), changes));
}

void warn_of_cuda_versions(const Placement& placement, Observer& observer) {
  if (placement.lanes[0].device.kind == DeviceKind::cpu) return;  // opens no library of GPUs
  auto found = cuda_versions();
  if (!found) return;
  for (const std::string& doubt : version_doubts(*found)) observer.on_warning(doubt);
}

// Statistics of a few samples are mostly noise.
void warn_of_small_batches(const RunSetup& setup, const ParameterLayout& layout,
                           Observer& observer) {
  const auto& entries = layout.entries();
  bool normalizes = std::any_of(entries.begin(), entries.end(),
                                [](const ParameterEntry& entry) { return !entry.trained; });
  int64_t samples = setup.placement.batch_size;
  if (!normalizes || samples >= 8 || setup.config.model.batch_norm == ModelConfig::BatchNorm::sync)
    return;
  observer.on_warning(
      fmt::format("batch norm computes its statistics over only {} (those of one tower); set "
                  "batch_norm: sync to use all {} of the global batch",
                  counted(samples, "sample"), setup.placement.global_batch()));
}

void SkippedSampleWarnings::warn(const DatasetPair& data, Observer& observer) {
  for (const Dataset* half : {data.train.get(), data.test.get()}) {
    if (half->skipped() == reported_[half]) continue;
    reported_[half] = half->skipped();
    observer.on_warning(fmt::format("{} left out; the first: {}",
                                    counted(half->skipped(), "broken sample"),
                                    half->first_problem()));
  }
}

}  // namespace spire::inline run
