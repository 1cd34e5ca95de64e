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

// Returns all columns of the training file; empty if the data is no table. Sets the role of the
// target alone; set_roles() sets the others. Throws Error(config) and Error(data) as opening the
// table does, except for contents of fields.
std::vector<TableColumnFacts> table_facts(const DataConfig& config);

// A folder of tables whose test file lacks one column of the training file, as in a competition
// where that column is to be predicted.
struct UnlabelledTest {
  std::filesystem::path train, test;
  std::string column;
  bool last = false;  // the column is the last one of the training file
};

std::optional<UnlabelledTest> find_unlabelled_test(const DataConfig& config);

// Sets the roles that are empty, by how a run uses the columns; without a header does nothing.
void set_roles(const SampleSpec& spec, std::vector<TableColumnFacts>& columns);

struct DatasetFacts {
  DatasetDescription data;
  std::vector<TableColumnFacts> table = {};
  std::string refused = {};  // why a run refuses the table: then `data` has only its name
  std::string json = {};     // all of this as one JSON object
};

// Opens the dataset with data.on_error: skip and reads only its labels. Throws Error(config) and
// Error(data); for a table whose columns are known, `refused` has the text of an Error(data)
// instead.
DatasetFacts dataset_facts(const DataConfig& config);

}  // namespace spire
