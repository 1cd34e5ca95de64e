// trainer plan: prints the memory that a run needs and whether it fits, or, with --gpu, an estimate
// of the time of a step.
#include <CLI/CLI.hpp>

#include <spire/error.h>
#include <spire/train.h>

#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/performance/step_estimate.h"

namespace spire {

void add_plan_options(CLI::App& app, ParsedWords& words) {
  add_config_options(app, words);
  app.add_option("--gpu", words.arguments.gpu,
                 "instead, estimate the time of a tower's step on a GPU from operations and "
                 "bytes; the GPU need not be here: h100, a100, l4 or rtx4090")
      ->type_name("NAME");
}

int run_plan(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  if (arguments.gpu) {
    auto estimate = [&] { return estimate_step(resolved->config, *arguments.gpu); };
    result_text(to_text(naming_places(*resolved, estimate)));
    return 0;
  }
  print_warnings(*resolved);
  PlanReport report = naming_places(*resolved, [&] { return plan(resolved->config); });
  print_warnings(report.warnings);
  result_text(to_text(report));
  if (!report.shortage.empty()) throw Error(Category::out_of_memory, report.shortage);
  return 0;
}

}  // namespace spire
