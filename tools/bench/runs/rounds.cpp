#include "tools/bench/runs/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>

#include "engine/base/fail.h"
#include "engine/config/words.h"
#include "engine/device/load/host_use.h"
#include "engine/device/topology.h"
#include "engine/observe/formatting.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/report/bench_table.h"
#include "tools/bench/runs/measure.h"
#include "tools/config_source.h"
#include "tools/process/attempt.h"

namespace spire {
namespace {

constexpr int64_t trial_steps = 3, trial_warmup = 1, max_steps = 1'000'000;

bool is_stop(const Error& error) {
  return error.category() == Category::interrupted;
}

class Rounds {
 public:
  Rounds(BenchReport& report, const RoundOptions& options, const RunVariant& run,
         const LogLine& log, const std::function<void()>& on_round)
      : report_(report), options_(options), run_(run), log_(log), on_round_(on_round) {}

  void go() {
    report_.warmup = options_.warmup;
    report_.steps = options_.steps ? *options_.steps : find_steps();
    auto count = std::ssize(report_.points);
    for (int64_t round = 0; round < options_.rounds; ++round)
      for (int64_t i = 0; i < count; ++i)
        add_round(round, report_.points[static_cast<size_t>((i + round) % count)]);
  }

 private:
  // Tries the variant with the shortest step, so that every other one is timed for longer. The
  // trial of one that fails shows why; then the next one is tried.
  int64_t find_steps() {
    std::vector<Point*> points;
    for (Point& point : report_.points) points.push_back(&point);
    std::ranges::stable_sort(points, {},
                             [](const Point* point) { return towers_a_device(*point); });
    for (Point* point : points) {
      auto trial = try_run("trial", *point, trial_steps, trial_warmup);
      if (!trial) continue;
      double steps = std::ceil(options_.seconds / trial->step_seconds);
      auto found = std::clamp(static_cast<int64_t>(steps), int64_t{1}, max_steps);
      announce(found, trial->step_seconds / towers_a_device(*point));
      return found;
    }
    return trial_steps;
  }

  static double towers_a_device(const Point& point) {
    return static_cast<double>(point.variant.towers) / static_cast<double>(point.variant.devices);
  }

  void announce(int64_t steps, double tower_seconds) {
    double seconds = 0;
    for (const Point& point : report_.points) seconds += towers_a_device(point) * tower_seconds;
    seconds *= static_cast<double>((steps + options_.warmup) * options_.rounds);
    log_(fmt::format("{} steps a run; all runs take about {}", count_text(steps),
                     duration_text(seconds)));
  }

  void add_round(int64_t round, Point& point) {
    if (!point.error.empty()) return;
    std::string name = fmt::format("round {}/{}", round + 1, options_.rounds);
    if (auto result = try_run(name, point, report_.steps, options_.warmup)) {
      point.rounds.push_back(*result);
      on_round_();
    }
  }

  std::optional<Measurement> try_run(const std::string& name, Point& point, int64_t steps,
                                     int64_t warmup) {
    std::string what = fmt::format("{}: {} scaling, {}", name, word_of(point.variant.scaling),
                                   to_text(point.variant));
    log_(what);
    try {
      Measurement result = run_(point.variant, steps, warmup);
      log_(fmt::format("  {} samples/s, {:.1f} ms a step", figure_text(result.samples_per_s),
                       1e3 * result.step_seconds));
      return result;
    } catch (const Error& error) {
      if (is_stop(error)) throw;
      point.error = error.what();
      log_(fmt::format("  failed: {}", point.error));
      return {};
    }
  }

  BenchReport& report_;
  const RoundOptions& options_;
  const RunVariant& run_;
  const LogLine& log_;
  const std::function<void()>& on_round_;
};

}  // namespace

bool run_rounds(BenchReport& report, const RoundOptions& options, const RunVariant& run,
                const LogLine& log, const std::function<void()>& on_round) {
  try {
    Rounds(report, options, run, log, on_round).go();
    return true;
  } catch (const Error& error) {
    if (!is_stop(error)) throw;
    // What was not run says nothing.
    std::erase_if(report.points,
                  [](const Point& point) { return point.rounds.empty() && point.error.empty(); });
    return false;
  }
}

namespace {

// stdout and stderr of one process.
struct Captured {
  CapturedOutput out, err;
};

[[noreturn]] void fail_with(const Outcome& outcome, const std::vector<Captured>& captured) {
  auto rank = static_cast<size_t>(std::max(0, outcome.cause.rank));
  std::string text = reported_error(captured[rank].err.text());
  if (outcome.cause.signal != 0 || text.empty()) text = to_string(outcome.cause);
  if (outcome.cause.signal == SIGKILL)
    text += "; the system does that where memory is short: see dmesg, or lower batch_size";
  bool known = outcome.code <= static_cast<int>(Category::collective);
  throw Error(known ? static_cast<Category>(outcome.code) : Category::unexpected, text);
}

std::vector<std::string> worker_words(const ConfigSnapshot& config, int64_t steps, int64_t warmup) {
  std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  return {"bench-worker",
          "--config",
          config.path(),
          "--steps",
          std::to_string(steps),
          "--warmup",
          std::to_string(warmup),
          "--started",
          std::to_string(now.count())};
}

// The measurement is the last line on stdout, since libraries may print others before it.
Measurement measurement_of(const Captured& process) {
  std::string out = process.out.text();
  while (out.ends_with('\n')) out.pop_back();
  std::string line = out.substr(out.rfind('\n') + 1);  // npos + 1 is 0
  try {
    return parse_measurement_json(line, "its last line");
  } catch (const Error& error) {
    fail(Category::unexpected, "a process ended without a measurement: {}; it printed: {}",
         error.what(), line.empty() ? process.err.text() : line);
  }
}

}  // namespace

Measurement WorkerRuns::run(const Variant& variant, int64_t steps, int64_t warmup) {
  OtherLoad others(discover_topology().cores);
  if (!signals_) signals_.emplace();
  ConfigSnapshot config({config_of(variant, config_), {}, {}});
  std::vector<Captured> captured(static_cast<size_t>(variant.processes));
  AttemptSetup setup{.words = worker_words(config, steps, warmup),
                     .ranks = variant.processes > 1 ? static_cast<int>(variant.processes) : 0,
                     .cores = variant_cores(variant, devices_)};
  if (std::string gpus = variant_gpus(variant, devices_); !gpus.empty())
    setup.variables = {{"CUDA_VISIBLE_DEVICES", gpus}};
  for (const Captured& each : captured)
    setup.streams.push_back({each.out.descriptor(), each.err.descriptor()});
  AttemptEnd end = Attempt(setup, *signals_).wait();
  if (end.stopped_by != 0) fail(Category::interrupted, "stopped by a signal");
  if (Outcome outcome = judge(end.statuses); outcome.code != 0) fail_with(outcome, captured);
  std::vector<Measurement> ranks;
  for (const Captured& process : captured) ranks.push_back(measurement_of(process));
  Measurement measured = combined(ranks);
  measured.others_cores = others.read();  // the processes have ended, and so do not count
  return measured;
}

}  // namespace spire
