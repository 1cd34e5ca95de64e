// trainer bench: times a model on growing numbers of devices, and prints a table. trainer
// bench-worker: one process of such a run.
#include <algorithm>
#include <chrono>

#include <spire/error.h>

#include "build_info.h"
#include "engine/base/message_words.h"
#include "engine/bench/built_in_models.h"
#include "engine/bench/machine.h"
#include "engine/bench/measure.h"
#include "engine/bench/measurement_json.h"
#include "engine/bench/model_facts.h"
#include "engine/bench/schedule.h"
#include "engine/bench/synthetic_data.h"
#include "engine/bench/variants.h"
#include "engine/config/text.h"
#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "tools/bench/worker_processes.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/join_ranks.h"

namespace spire::tool {

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

// Options have been checked to be such words.
template <typename Enum>
std::vector<Enum> enums(const std::vector<std::string>& words) {
  std::vector<Enum> values;
  for (const std::string& word : words) values.push_back(find_word<Enum>(word).value());
  return values;
}

VariantRequest request_of(const BenchArguments& bench) {
  VariantRequest request;
  request.counts = bench.counts;
  if (!bench.kind.empty()) request.kind = find_word<Kind>(bench.kind);
  request.scaling = enums<Scaling>(bench.scaling);
  request.precisions = enums<RunConfig::Precision>(bench.precisions);
  request.strategies = enums<RunConfig::Strategy>(bench.strategies);
  request.processes = bench.processes;
  request.towers_per_device = bench.towers_per_device;
  return request;
}

void refuse_launcher(const Launch& launch) {
  if (launch.launcher.empty()) return;
  fail(Category::config,
       "trainer bench starts the processes of its runs itself, and {} has started this one; start "
       "it without {}, with --processes",
       launch.launcher, launch.launcher);
}

BenchReport begin_report(const Arguments& arguments, const RunConfig& config,
                         const std::vector<Variant>& variants) {
  BenchReport report;
  report.date = utc_text(wall_time());
  report.spire = build_info::version;
  report.command = arguments.typed;
  report.machine = this_machine();
  ModelFacts facts = model_facts(config_of(variants.front(), config));
  report.model = facts.model;
  report.parameters = facts.parameters;
  report.batch_size = facts.batch_size;
  report.flops_per_sample = facts.flops_per_sample;
  report.data = config.data.name == "synthetic" ? "synthetic, in memory" : config.data.name;
  report.config = to_yaml(config);
  for (const Variant& variant : variants) report.points.push_back({variant, {}, ""});
  return report;
}

// One line per variant.
std::string plain_table(const BenchReport& report) {
  TextTable table = {{"scaling", "variant", "samples/s", "parameter hash"}};
  for (const Point& point : report.points) {
    std::string scaling(word_of(point.variant.scaling));
    if (point.rounds.empty()) {
      table.push_back({scaling, to_text(point.variant), "failed", point.error});
      continue;
    }
    std::vector<double> rates;
    for (const Measurement& round : point.rounds) rates.push_back(round.samples_per_s);
    std::ranges::sort(rates);
    table.push_back({scaling, to_text(point.variant),
                     fmt::format("{:.1f}", rates[rates.size() / 2]),
                     point.rounds.back().parameter_hash});
  }
  std::string text;
  for (const std::string& line : aligned(table)) text += line + "\n";
  return text;
}

// Throws where strong scaling has not trained the same bits: results are wrong then, not only slow.
void check_bits(const BenchReport& report) {
  for (auto precision :
       {RunConfig::Precision::fp32, RunConfig::Precision::bf16, RunConfig::Precision::fp16}) {
    if (same_bits(report, precision).value_or(true)) continue;
    fail(Category::unexpected,
         "THE GUARANTEE IS BROKEN: strong scaling in {} trained different bits on different "
         "devices; the table has the parameter hashes. Please report this with the command, the "
         "machine and this output",
         word_of(precision));
  }
}

void check_any_ran(const BenchReport& report) {
  if (std::ranges::any_of(report.points, [](const Point& point) { return !point.rounds.empty(); }))
    return;
  auto failed =
      std::ranges::find_if(report.points, [](const Point& p) { return !p.error.empty(); });
  if (failed == report.points.end()) return;  // stopped before the first run had ended
  fail(Category::unexpected, "no variant could run; {}: {}", to_text(failed->variant),
       failed->error);
}

RoundOptions round_options(const BenchArguments& bench) {
  RoundOptions options{.rounds = bench.rounds, .warmup = bench.warmup};
  if (bench.steps > 0) options.steps = bench.steps;
  return options;
}

int bench(const Arguments& arguments, RunConfig config) {
  if (arguments.bench.data == "synthetic") use_synthetic_data(config);
  BenchDevices devices = devices_here(config);
  std::vector<Variant> variants = make_variants(request_of(arguments.bench), config, devices);
  BenchReport report = begin_report(arguments, config, variants);
  auto log = [&](const std::string& line) {
    if (!arguments.quiet) print_log("{}\n", line);
  };
  log(fmt::format("{}, {} parameters, {}, {} on {}", report.model, count_text(report.parameters),
                  counted(std::ssize(report.points), "variant"),
                  counted(arguments.bench.rounds, "round"), report.machine.cpu));
  WorkerProcesses workers(config, devices);
  auto run = [&](const Variant& variant, int64_t steps, int64_t warmup) {
    return workers.run(variant, steps, warmup);
  };
  bool whole = run_rounds(report, round_options(arguments.bench), run, log);
  print_result("{}", plain_table(report));
  if (config.reduction == RunConfig::Reduction::invariant) check_bits(report);
  check_any_ran(report);
  if (!whole) fail(Category::interrupted, "stopped by a signal; the table has the rounds so far");
  return 0;
}

}  // namespace

int run_bench(const Arguments& arguments) {
  refuse_launcher(read_launch(process_environment()));
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
  MeasureOptions options{bench.steps, bench.warmup, started, end_process};
  print_result("{}\n", to_message(measure(resolved->config, options, world.get())));
  return 0;
}

}  // namespace spire::tool
