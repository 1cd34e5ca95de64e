// The subcommands of `trainer`: functions, in a table, that return the exit code or throw.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include <spire/run_config.h>
#include <spire/train.h>
#include <spire/world.h>

#include "tools/arguments.h"

namespace CLI {
class App;
}

namespace spire {

int run_train(const Arguments& arguments);
int run_eval(const Arguments& arguments);
int run_predict(const Arguments& arguments);
int run_export(const Arguments& arguments);
int run_plan(const Arguments& arguments);
int run_dataset_convert(const Arguments& arguments);
int run_dataset_inspect(const Arguments& arguments);
int run_dataset_verify(const Arguments& arguments);
int run_bench(const Arguments& arguments);
int run_bench_worker(const Arguments& arguments);
int run_sweep(const Arguments& arguments);
int run_audit(const Arguments& arguments);
int run_lr_find(const Arguments& arguments);
int run_init(const Arguments& arguments);
int run_models(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_report(const Arguments& arguments);
int run_devices(const Arguments& arguments);
int run_doctor(const Arguments& arguments);
int run_doctor_peers(const Arguments& arguments);
int run_version(const Arguments& arguments);

// Their options.
void add_train_options(CLI::App& app, ParsedWords& words);
void add_eval_options(CLI::App& app, ParsedWords& words);
void add_predict_options(CLI::App& app, ParsedWords& words);
void add_export_options(CLI::App& app, ParsedWords& words);
void add_plan_options(CLI::App& app, ParsedWords& words);
void add_convert_options(CLI::App& app, ParsedWords& words);
void add_inspect_options(CLI::App& app, ParsedWords& words);
void add_verify_options(CLI::App& app, ParsedWords& words);
void add_bench_options(CLI::App& app, ParsedWords& words);
void add_bench_worker_options(CLI::App& app, ParsedWords& words);
void add_sweep_options(CLI::App& app, ParsedWords& words);
void add_audit_options(CLI::App& app, ParsedWords& words);
void add_lr_find_options(CLI::App& app, ParsedWords& words);
void add_init_options(CLI::App& app, ParsedWords& words);
void add_compare_options(CLI::App& app, ParsedWords& words);
void add_report_options(CLI::App& app, ParsedWords& words);
void add_devices_options(CLI::App& app, ParsedWords& words);
void add_doctor_options(CLI::App& app, ParsedWords& words);
void add_doctor_peers_options(CLI::App& app, ParsedWords& words);
void add_version_options(CLI::App& app, ParsedWords& words);
void add_timeline_options(CLI::App& app, Arguments& arguments);  // of train

std::optional<TimelineOptions> timeline_options(const Arguments& arguments);

struct Command {
  std::string_view name;     // one word or two: "dataset convert"
  std::string_view summary;  // empty: not in the general help
  void (*add_options)(CLI::App&, ParsedWords&);
  int (*run)(const Arguments&);
};
const std::vector<Command>& commands();
const Command& find_command(std::string_view name);  // REQUIRES: there is such a command

// Returns whether the subcommand also writes the results that it prints to files.
bool keeps_results(const Arguments& arguments);

// Reads every row of the config's dataset and prints all problems on stdout. Throws Error(data) if
// there is a bad row or checksum; with may_skip bad rows are allowed in a split that has good ones.
void verify_data(const Arguments& arguments, const RunConfig& config, bool may_skip);

}  // namespace spire
