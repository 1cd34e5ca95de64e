// What the columns of a table hold, whether or not a run would take it.
#pragma once
#include <vector>

#include <spire/commands/dataset_tools.h>
#include <spire/run_config.h>

namespace spire::inline commands {

// Returns all columns of the training file; empty where the data is no table. Of the roles it knows
// the target's. Throws Error(config) and Error(data) as opening the table does, but not for what
// its fields hold.
std::vector<TableColumnFacts> table_facts(const DataConfig& config);

// Sets the roles of the others by what a run makes of the table.
void set_roles(const SampleSpec& spec, std::vector<TableColumnFacts>& columns);

}  // namespace spire::inline commands
