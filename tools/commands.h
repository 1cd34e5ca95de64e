// The subcommands of `trainer`. Each returns the exit code, or throws.
#pragma once
#include <string_view>
#include <vector>

#include "tools/arguments.h"

namespace spire::tool {

int run_train(const Arguments& arguments);
// Whether what the subcommand prints on stdout at its end is in files too.
bool keeps_results(const Arguments& arguments);
int run_eval(const Arguments& arguments);
int run_predict(const Arguments& arguments);
int run_plan(const Arguments& arguments);
int run_dataset_convert(const Arguments& arguments);
int run_dataset_inspect(const Arguments& arguments);
int run_dataset_verify(const Arguments& arguments);
int run_devices(const Arguments& arguments);
int run_version(const Arguments& arguments);

// Which group of options a subcommand takes.
enum class Options { train, eval, predict, plan, convert, inspect, verify, devices, verbose, none };

struct Command {
  std::string_view name;  // one word, or two
  std::string_view summary;
  Options options;
  int (*run)(const Arguments&);
};
const std::vector<Command>& commands();
const Command& find_command(std::string_view name);  // `name` is one of them

}  // namespace spire::tool
