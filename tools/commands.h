// Subcommands of `trainer`: one row each in a table. Each returns the exit code, or throws.
#pragma once
#include <string_view>
#include <vector>

#include <spire/run_config.h>

#include "engine/process/watchdog/thread_status.h"
#include "tools/arguments.h"

namespace CLI {
class App;
}

namespace spire::tool {

int run_train(const Arguments& arguments);
int run_eval(const Arguments& arguments);
int run_predict(const Arguments& arguments);
int run_plan(const Arguments& arguments);
int run_dataset_convert(const Arguments& arguments);
int run_dataset_inspect(const Arguments& arguments);
int run_dataset_verify(const Arguments& arguments);
int run_devices(const Arguments& arguments);
int run_version(const Arguments& arguments);

struct Command {
  std::string_view name;  // one word, or two
  std::string_view summary;
  void (*add_options)(CLI::App&, ParsedWords&);
  int (*run)(const Arguments&);
};
const std::vector<Command>& commands();
const Command& find_command(std::string_view name);  // `name` is one of them

// Returns whether the results that the subcommand prints at its end are in files, too.
bool keeps_results(const Arguments& arguments);

// Reads every row of the config's dataset and prints its problems on stdout. Throws Error(data) for
// a bad row or checksum; with may_skip only for a bad checksum or a split without a good row.
void verify_data(const Arguments& arguments, const RunConfig& config, bool may_skip);

// Returns the hook that a run calls at each phase of a thread: none in `trainer`. Test programs
// link their own definition to make a phase fail.
ThreadStatus::Hook phase_hook();

}  // namespace spire::tool
