// trainer compare: says whether two runs are equal, and with --bisect where they begin to differ.
#include <CLI/CLI.hpp>

#include "engine/base/fail.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/compare/compare_runs.h"
#include "tools/output/streams.h"

namespace spire {

void add_compare_options(CLI::App& app, ParsedWords& words) {
  CompareArguments& c = words.arguments.compare;
  app.add_option("runs", c.runs, "directories of the two runs")
      ->required()
      ->expected(2)
      ->type_name("RUN_A RUN_B");
  app.add_flag("--bisect", c.bisect,
               "train both again from their last common checkpoint, and name the first step, "
               "tower, op and tensor that differ");
  app.add_option("--set", words.set, "a config key for both replays, such as devices=cpu")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
  app.footer(
      "Compares configs, losses, gradient norms and hashes of the weights (log.hash_every_steps)\n"
      "to the last bit. Exit code 0: equal in all that both record; 1: different.\n"
      "A replay writes nothing and needs the memory of both runs at once, in one process.\n\n"
      "  trainer compare runs/a runs/b --bisect --set devices=cpu\n");
}

int run_compare(const Arguments& arguments) {
  const CompareArguments& given = arguments.compare;
  RunRecords a = read_run_records(given.runs.at(0), arguments.overrides);
  RunRecords b = read_run_records(given.runs.at(1), arguments.overrides);
  RecordComparison records = compare_records(a, b);
  result_text(to_text(a, b, config_differences(a.config, b.config, common_context(a, b)), records));
  if (records.steps == 0)
    fail(Category::config, "the runs record no step in common; set log.every_steps: 1 in both");
  bool equal = !records.first;
  if (given.bisect) {
    Bisection found = bisect(a, b);
    result_text(to_text(found));
    equal = equal && !found.difference && found.deviation.empty();
  }
  return equal ? 0 : 1;
}

}  // namespace spire
