// trainer train: trains a model as its config says. Results go to stdout, progress to stderr.
#include <spire/base/error.h>
#include <spire/config/text.h>
#include <spire/device/topology.h>
#include <spire/train/run.h>

#include <unistd.h>

#include <cstdio>

#include "commands.h"
#include "config_source.h"
#include "console.h"
#include "phase_hook.h"
#include "signals.h"
#include "supervisor.h"

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
  options.on_phase = phase_hook();
  return options;
}

// A thread of this process hangs: nothing but the end of the process ends that.
[[noreturn]] void end_process(const Failure& failure) {
  fmt::print(stderr, "{}\nerror[{}]: {}\n", failure.table, static_cast<int>(failure.category),
             failure.text);
  std::fflush(stderr);
  _exit(static_cast<int>(failure.category));
}

// Null for a run of one process.
std::unique_ptr<World> join(const RunConfig& config) {
  Launch launch = read_launch(process_environment());
  if (launch.size == 1) return nullptr;
  return join_world(launch, {.start_seconds = config.timeouts.start,
                             .cores = discover_topology().cores,
                             .abandon = end_process});
}

// Each failure is told once: by the rank it began on, and by rank 0.
bool tells(const World& world) {
  auto failure = world.watch->failure();
  return world.rank() == 0 || !failure || failure->rank == 0 || failure->rank == world.rank();
}

// Of several ranks the first one tells.
int exit_code(const RunResult& result, bool leads) {
  if (result.exit_code == static_cast<int>(Category::interrupted) && leads) {
    fail(
        Category::interrupted, "stopped by a signal at step {}; {}", result.summary.steps,
        result.summary.checkpoint.empty() ? "nothing was to be saved" : "go on with --resume auto");
  }
  return result.exit_code;
}

int train_here(const Arguments& arguments, const ResolvedConfig& resolved) {
  const RunConfig& config = resolved.config;
  std::unique_ptr<World> world = join(config);
  bool leads = !world || world->rank() == 0;
  StopSignals signals(leads ? StopSignals::saving : "");
  auto observer = leads ? make_observers(arguments, config) : std::make_unique<Observer>();
  for (const std::string& warning : resolved.warnings) observer->on_warning(warning);
  RunOptions options = run_options(arguments, config, signals);
  options.world = world.get();
  options.abandon = end_process;
  try {
    return exit_code(train(config, options, *observer), leads);
  } catch (const Error& error) {
    if (!world || tells(*world)) throw;
    return error.exit_code();
  }
}

}  // namespace

int run_train(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  if (arguments.check) {
    PlanReport report = check(resolved->config);
    print_warnings(*resolved);
    print_warnings(report.warnings);
    fmt::print("config, data and devices are in order\ntask: {}, with {}\n", report.start.task,
               report.start.model);
    return 0;
  }
  if (supervises(arguments)) return supervise(arguments, resolved->config);
  return train_here(arguments, *resolved);
}

}  // namespace spire::tool
