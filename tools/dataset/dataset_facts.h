// What a dataset holds (trainer dataset inspect), and the columns of a table, whether or not a run
// would take it.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/dataset.h>
#include <spire/run_config.h>

#include "engine/data/dataset.h"

namespace spire {

// A column of a table, in words.
struct TableColumnFacts {
  std::string name;  // or its number from 0
  std::string type;  // "whole numbers, 3 different from 1 to 3"
  std::string role;  // target, feature, left out; empty: unknown
};

// Returns all columns of the training file; empty where the data is no table. Of the roles it knows
// the target's. Throws Error(config) and Error(data) as opening the table does, but not for what
// its fields hold.
std::vector<TableColumnFacts> table_facts(const DataConfig& config);

// A table of a folder whose test file lacks one column of the training file: data of a competition,
// where that is to be predicted.
struct UnlabelledTest {
  std::filesystem::path train, test;
  std::string column;
  bool last = false;  // it is the last one of the training file
};

std::optional<UnlabelledTest> find_unlabelled_test(const DataConfig& config);

// Sets the roles of the others by what a run makes of the table.
void set_roles(const SampleSpec& spec, std::vector<TableColumnFacts>& columns);

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
