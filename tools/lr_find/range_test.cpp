#include "tools/lr_find/range_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spire/trainer.h>

#include "engine/base/fail.h"
#include "engine/observe/page/page.h"
#include "engine/update/schedule.h"
#include "tools/process/attempt.h"

namespace spire {
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

std::string loss_of(double value) {
  return fmt::format("{:.4g}", value);
}

std::string rate_of(const std::optional<double>& rate) {
  return rate ? fmt::format("{:.3g}", *rate) : "none: the loss never fell";
}

}  // namespace

std::optional<double> RangeTest::suggested() const {
  auto best = std::ranges::min_element(trials, {}, &RateTrial::loss);
  if (best != trials.end() && std::isfinite(best->loss)) return best->lr / scaling;
  if (!lowest) return {};
  return *lowest / 10 / scaling;
}

// The average lags behind the losses, so the lowest point is beyond the best rate: hence the tenth.
void judge(RangeTest& test) {
  Smoother smoother;
  for (RangePoint& point : test.points) point.smoothed = smoother.add(point.loss);
  test.lowest = test.steepest = std::nullopt;
  if (test.points.empty()) return;
  // The rates of the first points change nothing yet: what their batches have is no fall.
  auto first = test.points.begin() + std::ssize(test.points) / 10;
  auto best = std::ranges::min_element(test.points, {}, &RangePoint::smoothed);
  if (best <= first) return;
  test.lowest = best->lr;
  int64_t steepest = 0;
  for (int64_t i = 1; i <= best - test.points.begin(); ++i)
    if (slope_at(test.points, i) < slope_at(test.points, steepest)) steepest = i;
  test.steepest = test.points[static_cast<size_t>(steepest)].lr;
}

namespace {

// What the range test cannot tell: how far a run comes that has this rate from its first step on.
RateTrial try_rate(const RunConfig& config, double rate, const RangeTestOptions& options) {
  RateTrial trial{.lr = rate, .loss = std::numeric_limits<double>::infinity()};
  std::vector<double> losses;
  try {
    Trainer(config).fit({.steps = options.steps,
                         .lr = [rate](int64_t) { return rate; },
                         .on_step =
                             [&](const StepResult& result) {
                               losses.push_back(result.loss);
                               if (options.on_step)
                                 options.on_step({result.step, rate, result.loss, result.loss});
                               return true;
                             },
                         .stop = options.stop});
  } catch (const Error& error) {
    if (error.category() != Category::diverged) throw;
    return trial;
  }
  auto last = static_cast<ptrdiff_t>((losses.size() + 3) / 4);
  double mean = std::accumulate(losses.end() - last, losses.end(), 0.0) / static_cast<double>(last);
  if (std::isfinite(mean)) trial.loss = mean;
  return trial;
}

// The steps at rising rates. Its trainer's memory is free again for the trials.
RangeTest rise(const RunConfig& config, const RangeTestOptions& options) {
  RunConfig tested = config;
  tested.guard = {};  // the test ends where the run would diverge
  Trainer trainer(tested, TrainerOptions{.on_exit_timeout = end_process});
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

}  // namespace

RangeTest test_range(const RunConfig& config, const RangeTestOptions& options) {
  check(options);
  RangeTest test = rise(config, options);
  auto stopped = [&] { return options.stop && options.stop->load(); };
  if (!test.lowest || stopped()) return test;
  for (double share : {1.0, 1 / std::sqrt(10.0), 0.1}) {
    test.trials.push_back(try_rate(config, *test.lowest / 10 * share, options));
    if (!stopped()) continue;
    test.trials.clear();
    break;
  }
  return test;
}

std::string to_csv(const RangeTest& test) {
  std::string csv = "step,lr,loss,smoothed\n";
  for (const RangePoint& point : test.points)
    csv += fmt::format("{},{},{},{}\n", point.step, point.lr, point.loss, point.smoothed);
  return csv;
}

std::string range_test_html(const std::string& title, const RangeTest& test) {
  using Rows = std::vector<std::pair<std::string, std::string>>;
  Rows facts = {{"lowest loss at", rate_of(test.lowest)},
                {"steepest fall at", rate_of(test.steepest)},
                {"steps", fmt::format("{}", test.points.size())}};
  for (const RateTrial& trial : test.trials)
    facts.emplace_back(fmt::format("a run at {:.3g}", trial.lr), "loss " + loss_of(trial.loss));
  if (!test.ended.empty()) facts.emplace_back("ended early", test.ended);
  std::vector<double> lr, loss, smoothed;
  for (const RangePoint& point : test.points) {
    lr.push_back(drawn_number(point.lr));
    loss.push_back(drawn_number(point.loss));
    smoothed.push_back(drawn_number(point.smoothed));
  }
  // Losses beyond the blow-up would press the rest into a line.
  double most = test.points.empty() ? 0 : RangeTest::blow_up * test.points.front().loss;
  std::string suggested = rate_of(test.suggested());
  nlohmann::json data = {{"title", title},
                         {"suggested", suggested},
                         {"facts", facts},
                         {"lr", lr},
                         {"loss", loss},
                         {"smoothed", smoothed},
                         {"most", std::isfinite(most) ? most : 0}};
  return html_of({"range_test", title + ": range test",
                  "Suggested optimizer.lr: " + suggested + ". lr_find.csv has every step.",
                  data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
}

}  // namespace spire
