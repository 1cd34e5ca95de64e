// Descriptions of datasets for programs.
#include <utility>

#include <spire/commands/dataset_tools.h>

#include "engine/data/dataset.h"

namespace spire {
namespace {

SplitFacts facts_of(SplitDescription&& split) {
  return {.samples = split.samples,
          .class_counts = std::move(split.class_counts),
          .files = split.files,
          .bytes = split.bytes,
          .layout = std::move(split.layout),
          .labels_out_of_range = split.labels_out_of_range,
          .skipped = split.skipped,
          .first_problem = std::move(split.first_problem)};
}

}  // namespace

DatasetFacts dataset_facts(const DataConfig& config) {
  DatasetDescription data = describe_dataset(config);
  std::string json = to_json(data);
  return {.name = std::move(data.name),
          .spec = std::move(data.spec),
          .train = facts_of(std::move(data.train)),
          .test = facts_of(std::move(data.test)),
          .val = facts_of(std::move(data.val)),
          .same_files = data.same_files,
          .json = std::move(json)};
}

}  // namespace spire
