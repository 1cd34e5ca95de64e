#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/observe/page/page.h"
#include "tools/lr_find/range_test.h"

namespace spire {
namespace {

std::string loss_of(double value) {
  return fmt::format("{:.4g}", value);
}

std::string rate_of(const std::optional<double>& rate) {
  return rate ? fmt::format("{:.3g}", *rate) : "none: the loss never fell";
}

}  // namespace

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
