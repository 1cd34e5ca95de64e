// What a dataset holds, for people and programs (trainer dataset inspect).
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "tools/dataset/table_facts.h"

namespace spire {

struct DatasetFacts {
  DatasetDescription data;
  std::vector<TableColumnFacts> table = {};
  std::string refused = {};  // why a run refuses the table; `data` then has its name alone
  std::string json = {};     // all of this as one JSON object
};

// Opens the dataset with data.on_error: skip and reads only its labels. Throws Error(config) and
// Error(data), the latter not for a table whose columns can be told.
DatasetFacts dataset_facts(const DataConfig& config);

}  // namespace spire
