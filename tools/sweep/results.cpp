#include "tools/sweep/results.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/base/read_file.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/formatting.h"

namespace spire {

namespace {

using State = PointResult::State;

// JSON has no NaN: such a number is null.
double number(const nlohmann::json& object, const std::string& name) {
  const nlohmann::json& value = object.at(name);
  return value.is_null() ? std::nan("") : value.get<double>();
}

// Of an evaluation: the metric that decides, or the task's where it lacks that.
std::optional<MetricValue> shown_metric(const nlohmann::json& evaluation, Metric decides) {
  for (Metric metric : {decides, Metric::accuracy, Metric::perplexity, Metric::psnr, Metric::rmse,
                        Metric::exact_match})
    if (std::string key(name(metric)); evaluation.contains(key))
      return MetricValue{metric, number(evaluation, key)};
  return {};
}

void read_validation(const nlohmann::json& val, PointResult& result) {
  if (val.is_null()) return;
  constexpr std::string_view prefix = "best_";
  for (const auto& [key, value] : val.items())
    if (key.starts_with(prefix))
      if (auto metric = find_metric(std::string_view(key).substr(prefix.size())))
        result.best_by = *metric;
  result.held_out = val.value("data", "") == name_of_data(true);
  result.last = shown_metric(val, result.best_by);
  if (!result.last) return;
  result.best = number(val, fmt::format("{}{}", prefix, name(result.best_by)));
  result.loss = number(val, "loss");
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
  try {
    auto text = read_file_if_there(run / "summary.json", Category::config);
    if (!text) return result;
    nlohmann::json json = nlohmann::json::parse(*text);
    PointResult read;
    read.exit = json.at("exit").get<int>();
    read.state = state_of(read.exit);
    read.message = json.at("stopped_by").get<std::string>();
    read.steps = json.at("steps").get<int64_t>();
    read.train_loss = number(json, "train_loss");
    read.samples_per_s = number(json, "samples_per_s");
    read.seconds = number(json, "seconds");
    read.hash = json.at("parameter_hash").get<std::string>();
    read_validation(json.at("val"), read);
    if (json.contains("test")) read.test = shown_metric(json["test"], read.best_by);
    read.order = order_of(run);
    return read;
  } catch (const nlohmann::json::exception&) {
    return result;
  }
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
    text += fmt::format(", test {} {}", name(result.test->metric), metric_text(*result.test));
  if (result.last)
    text += fmt::format(", best {} {} {}", name_of_data(result.held_out), name(result.best_by),
                        metric_text({result.best_by, result.best}));
  return text + fmt::format(", {} samples/s, {}", count_text(std::llround(result.samples_per_s)),
                            duration_text(result.seconds));
}

}  // namespace spire
