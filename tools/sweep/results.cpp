#include "tools/sweep/results.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/formatting.h"
#include "engine/observe/json_files.h"

namespace spire {

namespace {

using State = PointResult::State;

// Of an evaluation: the metric that decides, or the task's where it lacks that.
template <typename Evaluation>
std::optional<MetricValue> shown_metric(const Evaluation& evaluation, Metric decides) {
  if (auto value = measured_value(evaluation, decides)) return MetricValue{decides, *value};
  if (evaluation.metric.metric == Metric::loss) return {};
  return evaluation.metric;
}

// best.* of the run's config; the default where that cannot be read.
BestConfig order_of(const std::filesystem::path& run) {
  try {
    auto text = read_file_if_there(run / "config.yaml", Category::config);
    if (text) return parse_config({{"config.yaml", *text}}, {}).config.best;
  } catch (const Error&) {
  }
  return {};
}

State state_of(int exit) {
  if (exit == 0) return State::done;
  return exit == static_cast<int>(Category::diverged) ? State::diverged : State::interrupted;
}

// Runs with results come first; among them the better ones.
bool ranks_before(const PointResult& a, const PointResult& b) {
  if (a.ended() != b.ended()) return a.ended();
  if (a.last.has_value() != b.last.has_value()) return a.last.has_value();
  if (!a.last) return std::isfinite(a.train_loss) && !(a.train_loss >= b.train_loss);
  if (a.best_by != b.best_by) return a.best_by < b.best_by;
  if (a.best != b.best) return is_better(best_is_higher(a.order, a.best_by), a.best, b.best);
  return false;
}

}  // namespace

PointResult read_point_result(const std::filesystem::path& run) {
  PointResult result;
  result.state = State::interrupted;
  auto text = read_file_if_there(run / "summary.json", Category::config);
  auto summary = text ? read_summary(*text) : std::nullopt;
  if (!summary || summary->parameter_hash.empty()) return result;  // no run has written it whole
  result.exit = summary->exit;
  result.state = state_of(result.exit);
  result.message = summary->stopped_by;
  result.steps = summary->steps;
  result.train_loss = summary->train_loss;
  result.samples_per_s = summary->samples_per_s;
  result.seconds = summary->seconds;
  result.hash = summary->parameter_hash;
  result.order = order_of(run);
  result.best_by = summary->val.best_by;
  if (summary->test) result.test = shown_metric(*summary->test, result.best_by);
  if (!summary->val.measured) return result;
  result.held_out = summary->val.held_out;
  result.last = shown_metric(summary->val, result.best_by);
  if (!result.last) return result;
  result.best = summary->val.best;
  result.loss = summary->val.loss;
  return result;
}

std::vector<size_t> sweep_ranking(const std::vector<PointResult>& results) {
  std::vector<size_t> order(results.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return ranks_before(results[a], results[b]); });
  return order;
}

std::string state_text(const PointResult& result) {
  switch (result.state) {
    case State::waiting:
      return "not started";
    case State::done:
      return result.message.empty() ? "done" : result.message;
    case State::diverged:
      return "diverged";
    case State::interrupted:
      return "interrupted";
    case State::failed:
      return fmt::format("failed ({})", result.exit);
  }
  return "";
}

std::string outcome_text(const PointResult& result) {
  std::string text = state_text(result);
  if (result.state == State::failed || result.state == State::diverged)
    return text + ": " + result.message;
  if (result.state != State::done) return text;
  if (result.test)
    text += fmt::format(", test {} {}", to_string(result.test->metric), metric_text(*result.test));
  if (result.last)
    text += fmt::format(", best {} {} {}", name_of_data(result.held_out), to_string(result.best_by),
                        metric_text({result.best_by, result.best}));
  return text + fmt::format(", {} samples/s, {}", count_text(std::llround(result.samples_per_s)),
                            duration_text(result.seconds));
}

}  // namespace spire
