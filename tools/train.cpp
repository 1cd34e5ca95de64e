// trainer train: trains a model as its config says. Results go to stdout, progress to stderr.
#include <spire/base/error.h>
#include <spire/config/text.h>
#include <spire/train/run.h>

#include "commands.h"
#include "config_source.h"
#include "console.h"
#include "signals.h"

namespace spire::tool {

namespace {

RunOptions run_options(const Arguments& arguments, const RunConfig& config,
                       const StopSignals& signals) {
  RunOptions options;
  options.overwrite = arguments.overwrite;
  options.resume = arguments.resume;
  options.dry_run = arguments.dry_run;
  options.stop = signals.flag();
  options.config_yaml = to_yaml(config);
  return options;
}

}  // namespace

int run_train(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  if (arguments.check) {
    check(resolved->config);
    fmt::print("config, data and devices are in order\n");
    return 0;
  }
  StopSignals signals;
  auto observer = make_observers(arguments, resolved->config);
  RunResult result =
      train(resolved->config, run_options(arguments, resolved->config, signals), *observer);
  if (result.exit_code == static_cast<int>(Category::interrupted)) {
    fail(
        Category::interrupted, "stopped by a signal at step {}; {}", result.summary.steps,
        result.summary.checkpoint.empty() ? "nothing was to be saved" : "go on with --resume auto");
  }
  return result.exit_code;
}

}  // namespace spire::tool
