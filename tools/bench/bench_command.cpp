// trainer bench: times a model on growing numbers of devices, or each of its ops, or compares two
// reports. trainer bench-worker: one process of a timed run.
#include <chrono>
#include <optional>

#include <spire/error.h>

#include "tools/bench/bench.h"
#include "tools/bench/worker_processes.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/join_ranks.h"

namespace spire {

namespace {

// Returns none if it has answered --help-config or --print-config.
std::optional<ResolvedConfig> read_bench_config(const Arguments& arguments) {
  bool nothing = arguments.configs.empty() && arguments.overrides.empty();
  if (arguments.bench.model.empty() && nothing && !arguments.help_config)
    fail(Category::config,
         "there is nothing to measure; give --config FILE, --model NAME or KEY.PATH=VALUE, see "
         "trainer bench --help");
  if (arguments.bench.model.empty() || arguments.help_config) return read_config(arguments);
  ConfigText text = built_in_model(arguments.bench.model);
  return answer_print_config(parse_config({text}, arguments.overrides), arguments);
}

void refuse_launched_bench(const Launch& launch) {
  if (launch.launcher.empty()) return;
  fail(Category::config,
       "trainer bench starts the processes of its runs itself, and {} has started this one; start "
       "it without {}, with --processes",
       launch.launcher, launch.launcher);
}

BenchOptions options_of(const Arguments& arguments) {
  const BenchArguments& bench = arguments.bench;
  BenchOptions options{.counts = bench.counts,
                       .processes = bench.processes,
                       .kind = bench.kind,
                       .scaling = bench.scaling,
                       .precisions = bench.precisions,
                       .strategies = bench.strategies,
                       .towers_per_device = bench.towers_per_device,
                       .steps = bench.steps,
                       .warmup = bench.warmup,
                       .rounds = bench.rounds,
                       .synthetic_data = bench.data == "synthetic",
                       .ceilings = !bench.no_ceilings,
                       .predicted = bench.predicted,
                       .link = bench.link,
                       .output = bench.output,
                       .overwrite = bench.overwrite,
                       .command = arguments.typed};
  if (!arguments.quiet) options.log = [](const std::string& line) { print_log("{}\n", line); };
  return options;
}

int run_scaling(const Arguments& arguments, const RunConfig& config) {
  std::optional<WorkerProcesses> workers;  // from the first run on: before, signals end the process
  BenchResult result = bench_scaling(config, options_of(arguments), [&](const BenchRun& run) {
    if (!workers) workers.emplace();
    return workers->run(run);
  });
  result_text(result.table);
  if (!arguments.bench.predicted.empty()) result_text("\n" + result.prediction);
  if (!result.broken_guarantee.empty()) fail(Category::unexpected, "{}", result.broken_guarantee);
  if (!result.lost_files.empty()) fail(Category::config, "{}", result.lost_files);
  print_result("\nwritten: {0}/bench.html, {0}/bench.json, {0}/bench.csv\n",
               result.folder.string());
  if (!result.no_prediction.empty())
    fail(Category::config, "no prediction: {}", result.no_prediction);
  if (!result.whole)
    fail(Category::interrupted, "stopped by a signal; the report has the rounds so far");
  return 0;
}

int bench(const Arguments& arguments, const RunConfig& config) {
  if (!arguments.bench.ops) return run_scaling(arguments, config);
  result_text(bench_ops(config, options_of(arguments)));
  return 0;
}

}  // namespace

int run_bench(const Arguments& arguments) {
  const std::vector<std::string>& compared = arguments.bench.compared;
  if (!compared.empty()) {
    result_text(compare_benches(compared[0], compared[1]));
    return 0;
  }
  refuse_launched_bench(read_launch(process_environment()));
  auto resolved = read_bench_config(arguments);
  if (!resolved) return 0;
  if (arguments.log_level != "error") print_warnings(*resolved);
  return naming_places(*resolved, [&] { return bench(arguments, resolved->config); });
}

int run_bench_worker(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  const BenchArguments& bench = arguments.bench;
  std::unique_ptr<World> world = join_ranks(read_launch(process_environment()), resolved->config);
  std::chrono::steady_clock::time_point started{std::chrono::nanoseconds(bench.started)};
  print_result("{}\n", measure_steps(resolved->config, bench.steps, bench.warmup, started,
                                     world.get(), end_process));
  return 0;
}

}  // namespace spire
