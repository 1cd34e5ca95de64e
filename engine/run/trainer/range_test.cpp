#include "engine/run/trainer/range_test.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <spire/error.h>
#include <spire/trainer.h>

#include "engine/optim/schedule.h"

namespace spire::inline run {
namespace {

constexpr int64_t window = 4;  // steps on either side between which a slope is taken

void check(const RangeTestOptions& options) {
  if (options.steps < 2)
    fail(Category::config, "the range test takes at least 2 steps, not {}", options.steps);
  if (options.low > 0 && options.low < options.high && std::isfinite(options.high)) return;
  fail(Category::config, "the range test goes from a low rate to a higher one, not from {} to {}",
       options.low, options.high);
}

double rate_of(const RangeTestOptions& options, int64_t step) {
  double part = static_cast<double>(step) / static_cast<double>(options.steps - 1);
  return options.low * std::pow(options.high / options.low, part);
}

// Slope of the smoothed loss over decades of the rate, around a point.
double slope_at(const std::vector<RangePoint>& points, int64_t at) {
  const RangePoint& a = points[static_cast<size_t>(std::max<int64_t>(0, at - window))];
  const RangePoint& b = points[static_cast<size_t>(std::min(std::ssize(points) - 1, at + window))];
  return (b.smoothed - a.smoothed) / std::log10(b.lr / a.lr);
}

// The moving average of the losses so far (RangeTest::smoothing).
class Smoother {
 public:
  double add(double loss) {
    sum_ = RangeTest::smoothing * sum_ + loss;
    weight_ = RangeTest::smoothing * weight_ + 1;
    return sum_ / weight_;
  }

 private:
  double sum_ = 0, weight_ = 0;
};

}  // namespace

std::optional<double> RangeTest::suggested() const {
  if (!lowest) return {};
  return *lowest / 10 / scaling;
}

// The average lags behind the losses, so the lowest point is beyond the best rate: hence the tenth.
void judge(RangeTest& test) {
  Smoother smoother;
  for (RangePoint& point : test.points) point.smoothed = smoother.add(point.loss);
  test.lowest.reset();
  test.steepest.reset();
  if (test.points.empty()) return;
  auto best = std::ranges::min_element(test.points, {}, &RangePoint::smoothed);
  if (best == test.points.begin()) return;
  test.lowest = best->lr;
  int64_t steepest = 0;
  for (int64_t i = 1; i <= best - test.points.begin(); ++i)
    if (slope_at(test.points, i) < slope_at(test.points, steepest)) steepest = i;
  test.steepest = test.points[static_cast<size_t>(steepest)].lr;
}

RangeTest test_range(const RunConfig& config, const RangeTestOptions& options) {
  check(options);
  RunConfig tested = config;
  tested.guard = {};  // the test ends where the run would diverge
  Trainer trainer(tested);
  RangeTest test;
  test.scaling = scaled_lr(1, config.lr, trainer.global_batch());
  Smoother smoother;
  double lowest = std::numeric_limits<double>::infinity();
  auto on_step = [&](const StepResult& result) {
    double smoothed = smoother.add(result.loss);
    test.points.push_back(
        {.step = result.step, .lr = result.lr, .loss = result.loss, .smoothed = smoothed});
    lowest = std::min(lowest, smoothed);
    if (options.on_step) options.on_step(test.points.back());
    if (smoothed > RangeTest::blow_up * lowest)
      test.ended = fmt::format("at step {} the smoothed loss is more than {} times the lowest",
                               result.step, RangeTest::blow_up);
    return test.ended.empty() && result.step < options.steps;
  };
  try {
    trainer.fit({.steps = options.steps,
                 .lr = [&](int64_t step) { return rate_of(options, step); },
                 .on_step = on_step,
                 .stop = options.stop});
  } catch (const Error& error) {
    if (error.category() != Category::diverged) throw;
    std::string text = error.what();
    test.ended = text.substr(0, text.find(';'));
  }
  judge(test);
  return test;
}

std::string to_csv(const RangeTest& test) {
  std::string csv = "step,lr,loss,smoothed\n";
  for (const RangePoint& point : test.points)
    csv += fmt::format("{},{},{},{}\n", point.step, point.lr, point.loss, point.smoothed);
  return csv;
}

}  // namespace spire::inline run
