#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <spire/commands/range_test.h>

#include "engine/page/html_text.h"
#include "engine/page/page_parts.h"
#include "engine/page/svg_curves.h"

namespace spire::inline run_page {
namespace {

std::string value_text(double value) {
  return fmt::format("{:.4g}", value);
}

std::string rate_text(const std::optional<double>& rate) {
  return rate ? fmt::format("{:.3g}", *rate) : "none: the loss never fell";
}

// Losses beyond the blow-up would press the rest into a line.
CurveChart chart_of(const RangeTest& test) {
  CurveChart chart{
      .title = "Loss over the learning rate",
      .description = "each step at a higher rate, from the same initial weights",
      .x_unit = "learning rate",
      .unit = "loss",
      .text = value_text,
      .logarithmic_x = true,
      .curves = {{.label = "of each batch", .colour = 0}, {.label = "smoothed", .colour = 1}}};
  double most = test.points.empty() ? 0 : RangeTest::blow_up * test.points.front().loss;
  for (const RangePoint& point : test.points) {
    double loss = std::min(point.loss, most);
    chart.curves[0].points.push_back({point.lr, loss, loss, loss});
    chart.curves[1].points.push_back({point.lr, point.smoothed, point.smoothed, point.smoothed});
  }
  return chart;
}

}  // namespace

std::string range_test_html(const std::string& title, const RangeTest& test) {
  CurveChart chart = chart_of(test);
  Facts facts = {{"suggested optimizer.lr", rate_text(test.suggested())},
                 {"lowest loss at", rate_text(test.lowest)},
                 {"steepest fall at", rate_text(test.steepest)},
                 {"steps", fmt::format("{}", test.points.size())}};
  for (const RateTrial& trial : test.trials)
    facts.emplace_back(fmt::format("a run at {:.3g}", trial.lr),
                       fmt::format("loss {}", value_text(trial.loss)));
  if (!test.ended.empty()) facts.emplace_back("ended early", test.ended);
  std::string body =
      fmt::format("<header><h1>{}: range test of the learning rate</h1>\n{}</header>",
                  html_text(title), facts_html(facts));
  body +=
      fmt::format("<section><div class=\"charts\">\n{}</div></section>\n",
                  figure(chart.title, chart.description, curves_legend(chart), curve_chart(chart)));
  return whole_page(title + ": range test", body);
}

}  // namespace spire::inline run_page
