// trainer plan: prints the memory that a run needs and whether it fits, without running; or, with
// --gpu, an estimate of the time of a step.
#include <spire/error.h>
#include <spire/train.h>

#include "engine/run/step_estimate.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"

namespace spire::tool {

int run_plan(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  if (arguments.gpu) {
    auto estimate = [&] { return estimate_step(resolved->config, *arguments.gpu); };
    print_result("{}", to_text(naming_places(*resolved, estimate)));
    return 0;
  }
  print_warnings(*resolved);
  PlanReport report = naming_places(*resolved, [&] { return plan(resolved->config); });
  print_warnings(report.warnings);
  print_result("{}", to_text(report));
  if (!report.shortage.empty()) throw Error(Category::out_of_memory, report.shortage);
  return 0;
}

}  // namespace spire::tool
