// trainer bench: times a model on growing numbers of devices, or each of its ops, or compares two
// reports. trainer bench-worker: one process of a timed run.
#include <chrono>
#include <optional>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "tools/bench/bench.h"
#include "tools/bench/limits/ceilings.h"
#include "tools/bench/limits/op_times.h"
#include "tools/bench/report/bench_compare.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/runs/measure.h"
#include "tools/bench/runs/variants.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/attempt.h"

namespace spire {

namespace {

// Returns none if it has answered --help-config or --print-config.
std::optional<ResolvedConfig> read_bench_config(const Arguments& arguments) {
  bool nothing = arguments.configs.empty() && arguments.overrides.empty();
  if (arguments.bench->model.empty() && nothing && !arguments.help_config)
    fail(Category::config,
         "there is nothing to measure; give --config FILE, --model NAME or KEY.PATH=VALUE, see "
         "trainer bench --help");
  if (arguments.bench->model.empty() || arguments.help_config) return read_config(arguments);
  ConfigText text = built_in_model(arguments.bench->model);
  return answer_print_config(parse_config({text}, arguments.overrides), arguments);
}

void refuse_launched_bench(const Launch& launch) {
  if (launch.launcher.empty()) return;
  fail(Category::config,
       "trainer bench starts the processes of its runs itself, and {} has started this one; start "
       "it without {}, with --processes",
       launch.launcher, launch.launcher);
}

}  // namespace

// Weak scaling's first variant, on its cores.
std::string bench_ops(const RunConfig& config, const BenchOptions& options) {
  VariantRequest request = options.variants;
  request.counts = {request.counts.empty() ? 1 : request.counts.front()};
  request.scaling = {Scaling::weak};
  BenchDevices devices = devices_here(config);
  Variant variant = make_variants(request, config, devices).front();
  RunConfig run = config_of(variant, config);
  if (variant.kind == Kind::cuda) run.devices = {fmt::format("{}xcuda", variant.devices)};
  keep_to_cores(variant_cores(variant, devices));
  CeilingOptions limits = default_ceiling_options(variant.kind, variant.devices, config);
  Ceilings ceilings = measure_ceilings(variant.kind, variant.devices, limits);
  return to_text(time_ops(run, ceilings));
}

int run_bench(const Arguments& arguments) {
  const std::vector<std::string>& compared = arguments.bench->compared;
  if (!compared.empty()) {
    result_text(compare_reports(read_bench_json(compared[0]), read_bench_json(compared[1])));
    return 0;
  }
  refuse_launched_bench(read_launch(process_environment()));
  auto resolved = read_bench_config(arguments);
  if (!resolved) return 0;
  if (arguments.log_level != "error") print_warnings(*resolved);
  return naming_places(*resolved, [&] {
    RunConfig config = resolved->config;
    if (arguments.bench->data == "synthetic") use_synthetic_data(config);
    if (!arguments.bench->ops) return bench_scaling(config, arguments);
    result_text(bench_ops(config, *arguments.bench));
    return 0;
  });
}

int run_bench_worker(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  const BenchOptions& bench = *arguments.bench;
  std::unique_ptr<World> world = join_ranks(read_launch(process_environment()), resolved->config);
  MeasureOptions options{
      .steps = bench.timed.steps.value_or(1),
      .warmup = bench.timed.warmup,
      .started = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(bench.started)),
      .on_exit_timeout = end_process};
  print_result("{}\n", measurement_json(measure(resolved->config, options, world.get())));
  return 0;
}

}  // namespace spire
