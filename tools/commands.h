// The subcommands of `trainer`: functions, in a table.
#pragma once
#include <string_view>
#include <vector>

#include <spire/run_config.h>

#include "tools/arguments.h"

namespace CLI {
class App;
}

namespace spire {

// Each runs one subcommand and returns the exit code, or throws.
using RunCommand = int(const Arguments& arguments);
RunCommand run_train, run_eval, run_predict, run_export, run_plan;
RunCommand run_dataset_convert, run_dataset_inspect, run_dataset_verify;
RunCommand run_bench, run_bench_worker, run_sweep, run_audit, run_lr_find, run_compare, run_report;
RunCommand run_init, run_models, run_devices, run_doctor, run_doctor_peers, run_version;

// Each adds the options of one.
using AddOptions = void(CLI::App& app, ParsedWords& words);
AddOptions add_train_options, add_eval_options, add_predict_options, add_export_options;
AddOptions add_plan_options, add_convert_options, add_inspect_options, add_verify_options;
AddOptions add_bench_options, add_bench_worker_options, add_sweep_options, add_audit_options;
AddOptions add_lr_find_options, add_compare_options, add_report_options, add_init_options;
AddOptions add_devices_options, add_doctor_options, add_doctor_peers_options, add_version_options;

struct Command {
  std::string_view name;     // one word or two: "dataset convert"
  std::string_view summary;  // empty: not in the general help
  AddOptions* add_options;
  RunCommand* run;
};
const std::vector<Command>& commands();
const Command& find_command(std::string_view name);  // REQUIRES: there is such a command

// Returns whether the subcommand writes the results that it prints to files, too, as `train` does:
// then a stdout that cannot be written is only a warning.
bool keeps_results(const Arguments& arguments);

// Reads every row of the config's dataset and prints all problems on stdout. Throws Error(data) if
// there is a bad row or checksum; with may_skip bad rows are allowed in a split that has good ones.
void verify_data(const Arguments& arguments, const RunConfig& config, bool may_skip);

}  // namespace spire
