// trainer bench: times a model on growing numbers of devices, or each of its ops, or compares two
// reports. trainer bench-worker: one process of a timed run.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <spire/error.h>

#include "build_info.h"
#include "engine/base/message_words.h"
#include "engine/base/thread.h"
#include "engine/base/write_file.h"
#include "engine/bench/limits/ceilings.h"
#include "engine/bench/limits/op_times.h"
#include "engine/bench/page/bench_html.h"
#include "engine/bench/report/bench_compare.h"
#include "engine/bench/report/bench_csv.h"
#include "engine/bench/report/bench_json.h"
#include "engine/bench/report/bench_table.h"
#include "engine/bench/runs/built_in_models.h"
#include "engine/bench/runs/energy.h"
#include "engine/bench/runs/machine.h"
#include "engine/bench/runs/measure.h"
#include "engine/bench/runs/model_facts.h"
#include "engine/bench/runs/schedule.h"
#include "engine/bench/runs/synthetic_data.h"
#include "engine/bench/runs/variants.h"
#include "engine/config/text.h"
#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/join_ranks.h"
#include "tools/trainer_bench/scaling_prediction.h"
#include "tools/trainer_bench/worker_processes.h"

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
  RunConfig run = config_of(variants.front(), config);
  report.energy = EnergyMeter(counted_gpus(run)).text();
  ModelFacts facts = model_facts(run);
  report.model = facts.model;
  report.parameters = facts.parameters;
  report.batch_size = facts.batch_size;
  report.reduction = config.reduction;
  report.flops_per_sample = facts.flops_per_sample;
  report.data = config.data.name == "synthetic" ? "synthetic, in memory" : config.data.name;
  report.config = to_yaml(config);
  for (const Variant& variant : variants) report.points.push_back({variant, {}, ""});
  return report;
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
  if (failed == report.points.end())
    fail(Category::interrupted, "stopped by a signal before the first run had ended");
  fail(Category::unexpected, "no variant could run; {}: {}", to_text(failed->variant),
       failed->error);
}

RoundOptions round_options(const BenchArguments& bench) {
  RoundOptions options{.rounds = bench.rounds, .warmup = bench.warmup};
  if (bench.steps > 0) options.steps = bench.steps;
  return options;
}

// Measures the machine's ceilings for each number of devices that a variant has.
void add_ceilings(BenchReport& report, const RunConfig& config) {
  for (const Point& point : report.points) {
    auto [kind, devices] = std::pair(point.variant.kind, point.variant.devices);
    bool known = std::ranges::any_of(report.ceilings, [&](const Ceilings& ceilings) {
      return ceilings.kind == kind && ceilings.devices == devices;
    });
    if (known) continue;
    CeilingOptions options = default_ceiling_options(kind, devices, config);
    report.ceilings.push_back(measure_ceilings(kind, devices, options));
  }
}

// The folder of a report. Until the first run has ended it holds no report of this benchmark.
class ReportFolder {
 public:
  // Throws Error(config) where the folder cannot be made or written, or has a report that nobody
  // allowed to overwrite.
  ReportFolder(const BenchArguments& bench, const std::string& date) : path_(bench.output) {
    if (path_.empty()) path_ = std::filesystem::path("runs") / "bench" / date;
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) fail(Category::config, "output: cannot create {}: {}", text(), error.message());
    if (!bench.overwrite && std::filesystem::exists(path_ / "bench.json"))
      fail(Category::config,
           "output: {} has the report of another benchmark; give another folder, or --overwrite",
           text());
    auto trial = path_ / "bench.csv";  // so that hours of measuring are not lost
    write_file_atomically(trial, "", Category::config);
    std::filesystem::remove(trial, error);
  }

  std::string text() const { return path_.string(); }
  void write_json(const BenchReport& report) const {
    write_bench_json(path_ / "bench.json", report);
  }
  void write_rest(const BenchReport& report, const std::vector<ModelledPoint>& modelled) const {
    write_file_atomically(path_ / "bench.csv", bench_csv(report), Category::config);
    write_file_atomically(path_ / "bench.html", bench_html(report, modelled), Category::config);
  }

 private:
  std::filesystem::path path_;
};

// Returns the message of an Error that body() throws, so that what follows is not lost with it.
template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

int bench_scaling(const Arguments& arguments, const RunConfig& config) {
  BenchDevices devices = devices_here(config);
  std::vector<Variant> variants = make_variants(request_of(arguments.bench), config, devices);
  std::optional<ScalingPrediction> prediction;
  if (!arguments.bench.predicted.empty()) prediction.emplace(arguments.bench, config, variants);
  BenchReport report = begin_report(arguments, config, variants);
  ReportFolder folder(arguments.bench, report.date);
  auto log = [&](const std::string& line) {
    if (!arguments.quiet) print_log("{}\n", line);
  };
  log(fmt::format("{}, {} parameters, {}, {} on {}", report.model, count_text(report.parameters),
                  counted(std::ssize(report.points), "variant"),
                  counted(arguments.bench.rounds, "round"), report.machine.cpu));
  if (!arguments.bench.no_ceilings) {
    log("measuring the machine's own products, copies and sums");
    add_ceilings(report, config);
  }
  WorkerProcesses workers(config, devices);
  auto run = [&](const Variant& variant, int64_t steps, int64_t warmup) {
    return workers.run(variant, steps, warmup);
  };
  RoundOptions rounds = round_options(arguments.bench);
  std::string lost;  // why files lack results
  rounds.on_round = [&] { lost = error_of([&] { folder.write_json(report); }); };
  bool whole = run_rounds(report, rounds, run, log);
  check_any_ran(report);
  std::vector<ModelledPoint> modelled;
  std::string unpredicted;
  if (prediction && whole) unpredicted = error_of([&] { modelled = prediction->predict(report); });
  if (lost.empty()) lost = error_of([&] { folder.write_rest(report, modelled); });
  print_result("{}", table_text(report));
  if (prediction) print_result("\n{}", prediction->text());
  check_bits(report);
  if (!lost.empty()) fail(Category::config, "{}", lost);
  print_result("\nwritten: {0}/bench.html, {0}/bench.json, {0}/bench.csv\n", folder.text());
  if (!unpredicted.empty()) fail(Category::config, "no prediction: {}", unpredicted);
  if (!whole) fail(Category::interrupted, "stopped by a signal; the report has the rounds so far");
  return 0;
}

// Weak scaling's first variant, on its cores, in this process.
int bench_ops(const Arguments& arguments, const RunConfig& config) {
  VariantRequest request = request_of(arguments.bench);
  request.counts = {request.counts.empty() ? 1 : request.counts.front()};
  request.scaling = {Scaling::weak};
  BenchDevices devices = devices_here(config);
  Variant variant = make_variants(request, config, devices).front();
  RunConfig run = config_of(variant, config);
  if (variant.kind == Kind::cuda) run.devices = {fmt::format("{}xcuda", variant.devices)};
  keep_to_cores(variant_cores(variant, devices));
  CeilingOptions options = default_ceiling_options(variant.kind, variant.devices, config);
  Ceilings ceilings = measure_ceilings(variant.kind, variant.devices, options);
  print_result("{}", to_text(time_ops(run, ceilings)));
  return 0;
}

int bench(const Arguments& arguments, RunConfig config) {
  if (arguments.bench.data == "synthetic") use_synthetic_data(config);
  return arguments.bench.ops ? bench_ops(arguments, config) : bench_scaling(arguments, config);
}

int compare(const std::vector<std::string>& files) {
  print_result("{}", compare_reports(read_bench_json(files[0]), read_bench_json(files[1])));
  return 0;
}

}  // namespace

int run_bench(const Arguments& arguments) {
  if (!arguments.bench.compared.empty()) return compare(arguments.bench.compared);
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
  print_result("{}\n", measurement_json(measure(resolved->config, options, world.get())));
  return 0;
}

}  // namespace spire::tool
