// What the columns of a table hold, whether or not a run would take it.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/dataset_tools.h>
#include <spire/run_config.h>

namespace spire {

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

}  // namespace spire
