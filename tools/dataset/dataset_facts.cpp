#include "tools/dataset/dataset_facts.h"

#include <nlohmann/json.hpp>

#include <spire/error.h>

namespace spire {

DatasetFacts dataset_facts(const DataConfig& config) {
  DatasetFacts facts{.data = {.name = config.name, .spec = {}, .train = {}, .test = {}},
                     .table = table_facts(config)};
  nlohmann::ordered_json json = {{"name", config.name}};
  try {
    facts.data = describe_dataset(config);
    json = nlohmann::ordered_json::parse(to_json(facts.data));
    set_roles(facts.data.spec, facts.table);
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
