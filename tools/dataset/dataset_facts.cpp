// Descriptions of datasets for programs.
#include <utility>

#include <nlohmann/json.hpp>

#include <spire/dataset_tools.h>
#include <spire/error.h>

#include "engine/data/dataset.h"
#include "tools/dataset/table_facts.h"

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
  DatasetFacts facts{.name = config.name, .spec = {}, .train = {}, .test = {}, .json = {}};
  facts.table = table_facts(config);
  nlohmann::ordered_json json = {{"name", config.name}};
  try {
    DatasetDescription data = describe_dataset(config);
    json = nlohmann::ordered_json::parse(to_json(data));
    facts.spec = std::move(data.spec);
    facts.train = facts_of(std::move(data.train));
    facts.test = facts_of(std::move(data.test));
    facts.val = facts_of(std::move(data.val));
    facts.same_files = data.same_files;
    set_roles(facts.spec, facts.table);
  } catch (const Error& error) {
    if (facts.table.empty() || error.category() != Category::data) throw;
    json["refused"] = facts.refused = error.what();
  }
  for (const TableColumnFacts& column : facts.table)
    json["table"].push_back({{"name", column.name}, {"type", column.type}, {"role", column.role}});
  facts.json = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return facts;
}

}  // namespace spire
