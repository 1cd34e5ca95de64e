#include "tools/bench/runs/rounds.h"

#include <algorithm>
#include <cmath>

#include <spire/error.h>

#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "tools/bench/report/bench_table.h"

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

}  // namespace spire
