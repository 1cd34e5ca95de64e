// The benchmark from its config to its report.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <sys/utsname.h>

#include <fmt/ranges.h>

#include <spire/load_config.h>

#include "build_info.h"
#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/base/text.h"
#include "engine/base/write_file.h"
#include "engine/config/words.h"
#include "engine/device/device.h"
#include "engine/device/topology.h"
#include "engine/observe/formatting.h"
#include "tools/arguments.h"
#include "tools/bench/bench.h"
#include "tools/bench/limits/ceilings.h"
#include "tools/bench/prediction/prediction.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/report/bench_table.h"
#include "tools/bench/runs/energy.h"
#include "tools/bench/runs/rounds.h"
#include "tools/doctor/checks.h"
#include "tools/output/streams.h"
#include "tools/performance/tower_work.h"

namespace spire {
namespace {

Machine this_machine() {
  utsname system{};
  uname(&system);
  Processor processor = read_processor();
  Machine machine{.host = system.nodename,
                  .system = fmt::format("{} {} {}", system.sysname, system.release, system.machine),
                  .cpu = processor.name,
                  .cores = std::ssize(discover_topology().cores),
                  .instructions = fmt::format("{}", fmt::join(instruction_sets(processor), ", ")),
                  .gpus = {}};
  for (const CudaDeviceInfo& gpu : discover_cuda().devices) machine.gpus.push_back(gpu.name);
  return machine;
}

// FLOPs are of forward and backward, without what memory.recompute repeats.
BenchReport begin_report(const std::string& command, const RunConfig& config,
                         const std::vector<Variant>& variants) {
  BenchReport report;
  report.date = utc_text(wall_time());
  report.spire = build_info::version;
  report.command = command;
  report.machine = this_machine();
  RunConfig run = config_of(variants.front(), config);
  report.energy = EnergyMeter(counted_gpus(run)).text();
  TowerWork tower = tower_work(run, true);
  report.model = tower.model;
  report.parameters = tower.parameters;
  report.batch_size = tower.batch;
  report.reduction = config.reduction;
  report.flops_per_sample = tower.flops_per_sample();
  report.data = config.data.name == "synthetic" ? "synthetic, in memory" : config.data.name;
  report.config = to_yaml(config);
  for (const Variant& variant : variants) report.points.push_back({variant, {}, ""});
  return report;
}

// Fails where strong scaling has not trained the same bits: results are wrong then, not only slow.
void check_guarantee(const BenchReport& report) {
  using Precision = RunConfig::Precision;
  for (auto precision : {Precision::fp32, Precision::bf16, Precision::fp16, Precision::exact}) {
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

LogLine log_of(const Arguments& arguments) {
  if (arguments.quiet) return [](const std::string&) {};
  return [](const std::string& line) { print_log("{}\n", line); };
}

void announce(const BenchReport& report, const BenchOptions& options, const RunConfig& config,
              const LogLine& log) {
  auto is_strong = [](const Point& point) { return point.variant.scaling == Scaling::strong; };
  if (options.variants.scaling.size() != 1 && std::ranges::none_of(report.points, is_strong))
    log(fmt::format(
        "strong scaling is left out, as the config has fewer towers ({}) than devices; towers={} "
        "measures it",
        *config.towers, report.points.back().variant.devices));
  log(fmt::format("{}, {} parameters, {}, {} on {}", report.model, count_text(report.parameters),
                  counted(std::ssize(report.points), "variant"),
                  counted(options.timed.rounds, "round"), report.machine.cpu));
}

}  // namespace

int bench_scaling(const RunConfig& config, const Arguments& arguments) {
  const BenchOptions& options = *arguments.bench;
  BenchDevices devices = devices_here(config);
  std::vector<Variant> variants = make_variants(options.variants, config, devices);
  std::optional<ScalingPrediction> prediction;
  if (!options.predicted.empty())
    prediction.emplace(options.predicted, options.link, config, variants);
  BenchReport report = begin_report(arguments.typed, config, variants);
  ReportFolder folder(options, report.date);
  LogLine log = log_of(arguments);
  announce(report, options, config, log);
  if (!options.no_ceilings) {
    log("measuring the machine's own products, copies and sums");
    add_ceilings(report, config);
  }
  WorkerRuns workers(config, devices);
  auto run = [&](const Variant& variant, int64_t steps, int64_t warmup) {
    return workers.run(variant, steps, warmup);
  };
  std::string lost_files, no_prediction;
  bool whole = run_rounds(report, options.timed, run, log,
                          [&] { lost_files = error_of([&] { folder.write_json(report); }); });
  check_any_ran(report);
  std::vector<ModelledPoint> modelled;
  if (prediction && whole)
    no_prediction = error_of([&] { modelled = prediction->predict(report); });
  if (lost_files.empty()) lost_files = error_of([&] { folder.write_rest(report, modelled); });
  result_text(table_text(report));
  if (prediction) result_text("\n" + prediction->text());
  check_guarantee(report);
  if (!lost_files.empty()) fail(Category::config, "{}", lost_files);
  print_result("\nwritten: {0}/bench.html, {0}/bench.json, {0}/bench.csv\n", folder.text());
  if (!no_prediction.empty()) fail(Category::config, "no prediction: {}", no_prediction);
  if (!whole) fail(Category::interrupted, "stopped by a signal; the report has the rounds so far");
  return 0;
}

}  // namespace spire
