// trainer train: trains a model from a config.
#include <chrono>

#include <CLI/CLI.hpp>

#include <spire/load_config.h>
#include <spire/train.h>
#include <spire/world.h>

#include "engine/base/fail.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/output/progress.h"
#include "tools/output/streams.h"
#include "tools/process/attempt.h"
#include "tools/process/signals.h"
#include "tools/train/supervisor.h"

namespace spire {

namespace {

// Returns the config of the run. With --resume and without --config it is the checkpoint's.
// train() reads the checkpoint again under the lock of the run directory, when no other process can
// write a newer one.
std::optional<ResolvedConfig> config_of_run(const Arguments& arguments) {
  if (!arguments.resume || !arguments.configs.empty()) return read_config(arguments);
  auto run = read_named_run(arguments, arguments.resume, CheckpointChoice::newest);
  if (!run) return {};
  return std::move(run->resolved);
}

bool only_prints(const Arguments& arguments) {
  return arguments.check || arguments.print_config || arguments.help_config;
}

using Clock = std::chrono::steady_clock;

// When the process began. Where a supervisor started it, when that began: max_time counts for all
// attempts together.
Clock::time_point process_start() {
  auto given = process_environment()(started_variable);
  if (!given) return Clock::now();
  Clock::time_point then(std::chrono::nanoseconds(parse_integer(*given)));
  return then > Clock::now() ? Clock::now() : then;  // another boot's or host's clock
}

// "10:12", or "10" for a single step. Throws Error(config).
std::pair<int64_t, int64_t> parse_steps(const std::string& text) {
  size_t colon = text.find(':');
  int64_t first = parse_integer(text.substr(0, colon));
  int64_t last = colon == text.npos ? first : parse_integer(text.substr(colon + 1));
  if (first < 1 || last < first)
    fail(Category::config, "expected FIRST:LAST with 1 <= FIRST <= LAST, got '{}'", text);
  return {first, last};
}

std::string steps_problem(const std::string& text) {
  try {
    auto [first, last] = parse_steps(text);
    constexpr int64_t most = 1000;
    if (last - first < most) return "";
    return fmt::format("a timeline has at most {} steps, got {}", most, last - first + 1);
  } catch (const Error& error) {
    return error.what();
  }
}

void add_timeline_options(CLI::App& app, Arguments& arguments) {
  CLI::Option* file =
      app.add_option("--timeline", arguments.timeline,
                     "write what every device did in some steps, for ui.perfetto.dev or "
                     "chrome://tracing (Trace Event Format)")
          ->type_name("FILE");
  app.add_option("--timeline-steps", arguments.timeline_steps,
                 "of which steps; default: three, after the first ten")
      ->needs(file)
      ->check(steps_problem)
      ->type_name("FIRST:LAST");
}

std::optional<TimelineOptions> timeline_options(const Arguments& arguments) {
  if (arguments.timeline.empty()) return {};
  require_replaceable(arguments.timeline, ReplaceableFile::timeline);
  TimelineOptions options{.path = arguments.timeline};
  if (!arguments.timeline_steps.empty())
    std::tie(options.first, options.last) = parse_steps(arguments.timeline_steps);
  return options;
}

RunOptions run_options(const Arguments& arguments, const ResolvedConfig& resolved,
                       StopSignals& signals) {
  RunOptions options;
  options.defaulted_keys = defaulted_keys(resolved);
  options.overwrite = arguments.overwrite;
  options.resume = arguments.resume;
  options.dry_run = arguments.dry_run;
  options.stop = signals.flag();
  options.config_yaml = to_yaml(resolved.config);
  options.on_begin = [&signals] { signals.begin_work(); };
  options.on_phase = arguments.on_phase;
  options.timeline = timeline_options(arguments);
  return options;
}

// Returns whether this rank prints the failure: the rank where it began does, and rank 0.
bool reports_failure(const World& world) {
  auto failure = failure_of(world);
  return world.rank() == 0 || !failure || failure->rank == 0 || failure->rank == world.rank();
}

// Returns the exit code. Only the leading rank throws for a stop, so that the message appears once.
int exit_code(const RunResult& result, bool leads) {
  if (result.exit_code == static_cast<int>(Category::interrupted) && leads) {
    fail(Category::interrupted, "stopped by {} at step {}; {}",
         result.summary.stopped_by == "signal" ? "a signal" : result.summary.stopped_by,
         result.summary.steps,
         result.summary.checkpoint.empty() ? "there was nothing to save"
                                           : "continue with --resume auto");
  }
  return result.exit_code;
}

int train_here(const Arguments& arguments, const ResolvedConfig& resolved, const Launch& launch,
               StopSignals& signals) {
  Clock::time_point started = process_start();
  const RunConfig& config = resolved.config;
  bool leads = launch.rank == 0;
  // Before the ranks meet: an address that is taken ends rank 0 with code 2, not all with code 8.
  auto observer = leads ? make_observers(arguments, config) : std::make_unique<Observer>();
  std::unique_ptr<World> world = join_ranks(launch, config);
  // Warnings with a place in a snapshot were printed by the supervisor.
  for (const std::string& warning : resolved.warnings)
    if (!warning.starts_with(ConfigSnapshot::folder)) observer->on_warning(warning);
  RunOptions options = run_options(arguments, resolved, signals);
  options.started = started;
  options.world = world.get();
  options.on_exit_timeout = end_process;
  try {
    return exit_code(train(config, options, *observer), leads);
  } catch (const Error& error) {
    if (!world || reports_failure(*world)) throw;
    return error.exit_code();
  }
}

}  // namespace

bool keeps_results(const Arguments& arguments) {
  return arguments.command == "train" && arguments.dry_run == 0 && !only_prints(arguments);
}

void add_train_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  add_config_options(app, words);
  auto* check = app.add_flag("--check", a.check, "validate config, data and devices, then exit");
  app.add_flag("--deep", a.deep, "with --check: read every sample once, and name the broken ones")
      ->needs(check);
  app.add_option("--resume", a.resume,
                 "go on from a checkpoint: a run's directory (its newest), a file, best or latest "
                 "of the run in output; auto: the newest good one, if any. Without --config with "
                 "the config of that run")
      ->type_name("auto|RUN|FILE|best|latest");
  app.add_flag("--overwrite", a.overwrite, "delete what earlier runs left in the run directory");
  app.add_option("--dry-run", a.dry_run,
                 "train N steps, evaluate N batches at most and write nothing")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--serve", words.serve,
                 "show the run to browsers at this port of the machine (0: any), or at HOST:PORT; "
                 "the same as monitor.serve=PORT")
      ->type_name("PORT|HOST:PORT");
  app.add_option("--processes", a.processes, "start N processes here that train as one run")
      ->check(integer_between(1, 4096))
      ->type_name("N");
  app.add_option("--max-restarts", a.max_restarts,
                 "when a process dies or hangs, restart from the newest checkpoint, up to M times")
      ->check(integer_between(0, 1'000'000))
      ->type_name("M");
  add_timeline_options(app, a);
  add_log_options(app, a);
}

int run_train(const Arguments& arguments) {
  // Before the config is read: from here on no signal kills.
  Launch launch;
  std::optional<StopSignals> signals;
  if (!only_prints(arguments)) {
    launch = read_launch(process_environment());
    signals.emplace(launch.rank == 0 ? StopSignals::saving : "");
  }
  auto resolved = config_of_run(arguments);
  if (!resolved) return 0;
  if (arguments.check) {
    PlanReport report = naming_places(*resolved, [&] { return check(resolved->config); });
    print_warnings(*resolved);
    print_warnings(report.warnings);
    const RunConfig& config = resolved->config;
    if (arguments.deep)
      verify_data(arguments, config, config.data.on_error == DataConfig::OnError::skip);
    print_result("config, data and devices are good{}\ntask: {}, with {}\n",
                 arguments.deep ? "" : " (samples were not read; --deep reads them)",
                 report.start.task, report.start.model);
    return 0;
  }
  if (supervises(arguments)) return supervise(arguments, *resolved);
  return naming_places(*resolved,
                       [&] { return train_here(arguments, *resolved, launch, *signals); });
}

}  // namespace spire
