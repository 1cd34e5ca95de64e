// The benchmark from its config to its report.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/base/system.h"
#include "engine/base/text.h"
#include "engine/base/write_file.h"
#include "engine/config/words.h"
#include "engine/device/load/other_load.h"
#include "engine/device/topology.h"
#include "engine/observe/formatting.h"
#include "tools/bench/bench.h"
#include "tools/bench/limits/ceilings.h"
#include "tools/bench/limits/op_times.h"
#include "tools/bench/prediction/scaling_prediction.h"
#include "tools/bench/report/bench_compare.h"
#include "tools/bench/report/bench_csv.h"
#include "tools/bench/report/bench_json.h"
#include "tools/bench/report/bench_page.h"
#include "tools/bench/report/bench_table.h"
#include "tools/bench/runs/energy.h"
#include "tools/bench/runs/machine.h"
#include "tools/bench/runs/measure.h"
#include "tools/bench/runs/model_facts.h"
#include "tools/bench/runs/schedule.h"
#include "tools/bench/runs/synthetic_data.h"
#include "tools/bench/runs/variants.h"

namespace spire {
namespace {

// Throws Error(config) for a word that is none of the enum's. option: what was set to it.
template <typename Enum>
Enum value_of(const char* option, const std::string& word) {
  if (auto value = find_word<Enum>(word)) return *value;
  fail(Category::config, "{}: '{}' is none of: {}", option, word, fmt::join(all_words<Enum>, ", "));
}

template <typename Enum>
std::vector<Enum> enums(const char* option, const std::vector<std::string>& words) {
  std::vector<Enum> values;
  for (const std::string& word : words) values.push_back(value_of<Enum>(option, word));
  return values;
}

void check_ranges(const BenchOptions& options) {
  auto at_least_one = [](const char* option, int64_t value) {
    if (value < 1) fail(Category::config, "{}: {} is less than 1", option, value);
  };
  at_least_one("--warmup", options.warmup);
  at_least_one("--rounds", options.rounds);
  at_least_one("--towers-per-device", options.towers_per_device);
  if (options.steps < 0) fail(Category::config, "--steps: {} is less than 0", options.steps);
  if (!options.predicted.empty() && options.link.empty())
    fail(Category::config, "--predict needs --link: what joins the devices");
}

VariantRequest request_of(const BenchOptions& options) {
  check_ranges(options);
  VariantRequest request;
  request.counts = options.counts;
  if (!options.kind.empty()) request.kind = value_of<Kind>("--kind", options.kind);
  if (!options.scaling.empty()) request.scaling = enums<Scaling>("--scaling", options.scaling);
  request.precisions = enums<RunConfig::Precision>("--precisions", options.precisions);
  request.strategies = enums<RunConfig::Strategy>("--strategies", options.strategies);
  if (!options.processes.empty()) request.processes = options.processes;
  request.towers_per_device = options.towers_per_device;
  return request;
}

BenchReport begin_report(const BenchOptions& options, const RunConfig& config,
                         const std::vector<Variant>& variants) {
  BenchReport report;
  report.date = utc_text(wall_time());
  report.spire = SPIRE_VERSION;
  report.command = options.command;
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

// Says so where strong scaling has not trained the same bits: results are wrong then, not only
// slow.
std::string broken_guarantee(const BenchReport& report) {
  using Precision = RunConfig::Precision;
  for (auto precision : {Precision::fp32, Precision::bf16, Precision::fp16, Precision::exact}) {
    if (same_bits(report, precision).value_or(true)) continue;
    return fmt::format(
        "THE GUARANTEE IS BROKEN: strong scaling in {} trained different bits on different "
        "devices; the table has the parameter hashes. Please report this with the command, the "
        "machine and this output",
        word_of(precision));
  }
  return "";
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

RoundOptions round_options(const BenchOptions& asked) {
  RoundOptions options{.rounds = asked.rounds, .warmup = asked.warmup};
  if (asked.steps > 0) options.steps = asked.steps;
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
  ReportFolder(const BenchOptions& asked, const std::string& date) : path_(asked.output) {
    if (path_.empty()) path_ = std::filesystem::path("runs") / "bench" / date;
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error)
      fail(category_of(error.value(), Category::config), "output: cannot create {}: {}", text(),
           error.message());
    if (!asked.overwrite && std::filesystem::exists(path_ / "bench.json"))
      fail(Category::config,
           "output: {} has the report of another benchmark; give another folder, or --overwrite",
           text());
    auto trial = path_ / "bench.csv";  // so that hours of measuring are not lost
    write_file_atomically(trial, "", Category::config);
    std::filesystem::remove(trial, error);
  }

  const std::filesystem::path& path() const { return path_; }
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

// The measurement is the last line on stdout, since libraries may print others before it.
Measurement measurement_of(const ProcessOutput& process) {
  std::string out = process.out;
  while (out.ends_with('\n')) out.pop_back();
  std::string line = out.substr(out.rfind('\n') + 1);  // npos + 1 is 0
  try {
    return parse_measurement_json(line, "its last line");
  } catch (const Error& error) {
    fail(Category::unexpected, "a process ended without a measurement: {}; it printed: {}",
         error.what(), line.empty() ? process.err : line);
  }
}

// Times a variant of a config in processes that the program starts.
class TimedRuns {
 public:
  TimedRuns(const RunConfig& config, const BenchDevices& devices, const StartBenchRun& start)
      : config_(config), devices_(devices), start_(start) {}

  Measurement run(const Variant& variant, int64_t steps, int64_t warmup) const {
    OtherLoad others(discover_topology().cores);
    std::vector<Measurement> ranks;
    for (const ProcessOutput& process : start_({.config = config_of(variant, config_),
                                        .processes = variant.processes,
                                        .cores = variant_cores(variant, devices_),
                                        .gpus = variant_gpus(variant, devices_),
                                        .steps = steps,
                                        .warmup = warmup}))
      ranks.push_back(measurement_of(process));
    Measurement measured = combined(ranks);
    measured.others_cores = others.read();  // the processes have ended, and so do not count
    return measured;
  }

 private:
  const RunConfig& config_;
  const BenchDevices& devices_;
  const StartBenchRun& start_;
};

RunConfig config_to_bench(RunConfig config, const BenchOptions& options) {
  if (options.synthetic_data) use_synthetic_data(config);
  return config;
}

}  // namespace
}  // namespace spire

namespace spire {

BenchResult bench_scaling(const RunConfig& given, const BenchOptions& options,
                          const StartBenchRun& start) {
  RunConfig config = config_to_bench(given, options);
  BenchDevices devices = devices_here(config);
  std::vector<Variant> variants = make_variants(request_of(options), config, devices);
  std::optional<ScalingPrediction> prediction;
  if (!options.predicted.empty()) prediction.emplace(options, config, variants);
  BenchReport report = begin_report(options, config, variants);
  ReportFolder folder(options, report.date);
  auto log = [&](const std::string& line) {
    if (options.log) options.log(line);
  };
  auto is_strong = [](const Variant& variant) { return variant.scaling == Scaling::strong; };
  if (options.scaling.size() != 1 && std::ranges::none_of(variants, is_strong))
    log(fmt::format(
        "strong scaling is left out, as the config has fewer towers ({}) than devices; towers={} "
        "measures it",
        *config.towers, variants.back().devices));
  log(fmt::format("{}, {} parameters, {}, {} on {}", report.model, count_text(report.parameters),
                  counted(std::ssize(report.points), "variant"), counted(options.rounds, "round"),
                  report.machine.cpu));
  if (options.ceilings) {
    log("measuring the machine's own products, copies and sums");
    add_ceilings(report, config);
  }
  TimedRuns runs(config, devices, start);
  auto run = [&](const Variant& variant, int64_t steps, int64_t warmup) {
    return runs.run(variant, steps, warmup);
  };
  BenchResult result{.folder = folder.path(), .table = {}};
  RoundOptions rounds = round_options(options);
  rounds.on_round = [&] { result.lost_files = error_of([&] { folder.write_json(report); }); };
  result.whole = run_rounds(report, rounds, run, log);
  check_any_ran(report);
  std::vector<ModelledPoint> modelled;
  if (prediction && result.whole)
    result.no_prediction = error_of([&] { modelled = prediction->predict(report); });
  if (result.lost_files.empty())
    result.lost_files = error_of([&] { folder.write_rest(report, modelled); });
  result.table = table_text(report);
  if (prediction) result.prediction = prediction->text();
  result.broken_guarantee = broken_guarantee(report);
  return result;
}

// Weak scaling's first variant, on its cores.
std::string bench_ops(const RunConfig& given, const BenchOptions& options) {
  RunConfig config = config_to_bench(given, options);
  VariantRequest request = request_of(options);
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

std::string measure_steps(const RunConfig& config, int64_t steps, int64_t warmup,
                          std::chrono::steady_clock::time_point started, World* world,
                          const std::function<void(const Failure&)>& on_exit_timeout) {
  return measurement_json(measure(config, {steps, warmup, started, on_exit_timeout}, world));
}

std::string compare_benches(const std::filesystem::path& a, const std::filesystem::path& b) {
  return compare_reports(read_bench_json(a), read_bench_json(b));
}

}  // namespace spire
