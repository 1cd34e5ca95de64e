// Axes and curves of pages, by their definition.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/page/svg_axis.h"
#include "engine/page/svg_curves.h"
#include "tests/page/elements.h"

namespace spire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::string plain(double value) {
  return fmt::format("{:.3g}", value);
}

std::string page_of(const CurveChart& chart) {
  return "<!DOCTYPE html>\n<html>" + curve_chart(chart) + "<ul>" + curves_legend(chart) +
         "</ul></html>";
}

CurveChart chart_of(std::vector<Curve> curves) {
  return {.title = "Loss",
          .description = "of steps",
          .x_unit = "epoch",
          .unit = "",
          .text = plain,
          .curves = std::move(curves)};
}

CurvePoint point(double x, double y) {
  return {x, y, y, y};
}

TEST(RangeAxis, EndsAtTicksAroundAnyValues) {
  EXPECT_THAT(range_axis(0.91, 0.99, 0, 1).ticks.front(), ::testing::DoubleEq(0.9));
  EXPECT_DOUBLE_EQ(range_axis(0.91, 0.99, 0, 1).high, 1.0);
  EXPECT_DOUBLE_EQ(range_axis(1, 10, 0, 1).low, 0);  // nearly from 0: so it begins there
  for (double low : {-1e9, -37.5, -1e-3, 1e-7, 5.0, 1e12}) {
    for (double spread = 1e-3; spread < 1e13; spread *= 3.7) {
      ChartAxis axis = range_axis(low, low + spread, 0, 1);
      double scale = 1e-6 * (std::abs(low) + spread);
      EXPECT_LE(axis.low, low + scale);
      EXPECT_GE(axis.high, low + spread - scale);
      EXPECT_LE(axis.ticks.size(), 10u) << low << " " << spread;
      EXPECT_GE(axis.ticks.size(), 2u);
    }
  }
  EXPECT_GT(range_axis(3, 3, 0, 1).high, range_axis(3, 3, 0, 1).low);
  EXPECT_EQ(range_axis(nan, 1, 0, 1).high, 1);
}

TEST(CurveChart, LeavesGapsWhereNothingWasFinite) {
  std::string gap = page_of(
      chart_of({{.label = "a", .colour = 0, .points = {point(0, 1), point(1, nan), point(2, 3)}}}));
  elements_of(gap);
  EXPECT_THAT(gap, Not(HasSubstr("nan")));
  size_t line = gap.find("class=\"curve\" d=\"");
  std::string path = gap.substr(line, gap.find("\"/>", line) - line);
  EXPECT_EQ(std::ranges::count(path, 'M'), 2);  // two parts
  EXPECT_EQ(std::ranges::count(path, 'L'), 0);
}

TEST(CurveChart, OfNothingAndOfNoFiniteValue) {
  for (const auto& points : {std::vector<CurvePoint>{}, {point(0, nan)}, {point(0, 0)}}) {
    std::string page = page_of(chart_of({{.label = "<a>", .colour = 0, .points = points}}));
    EXPECT_EQ(elements_of(page)["svg"], 2);  // and the legend's
    EXPECT_THAT(page, Not(HasSubstr("nan")));
    EXPECT_THAT(page, HasSubstr("&lt;a&gt;"));
  }
  EXPECT_EQ(elements_of(page_of(chart_of({})))["svg"], 1);
}

TEST(CurveChart, IsLogarithmicOverManyDecadesOnly) {
  CurveChart chart =
      chart_of({{.label = "a", .colour = 0, .points = {point(0, 1), point(1, 1e5)}}});
  EXPECT_THAT(curve_chart(chart), HasSubstr(">8e+04<"));  // a linear tick
  chart.may_be_logarithmic = true;
  EXPECT_THAT(curve_chart(chart), HasSubstr(">1e+03<"));
  chart.curves[0].points[0] = point(0, 0);  // no logarithm of 0
  EXPECT_THAT(curve_chart(chart), HasSubstr(">8e+04<"));
}

TEST(CurveChart, StacksAreas) {
  CurveChart chart = chart_of({{.label = "a", .colour = 0, .points = {point(0, 1), point(1, 2)}},
                               {.label = "b", .colour = 1, .points = {point(0, 3), point(1, 8)}}});
  chart.stacked = true;
  std::string svg = curve_chart(chart);
  EXPECT_THAT(svg, HasSubstr(">10<"));  // the largest sum is the end of the axis
  EXPECT_THAT(svg, Not(HasSubstr(">12<")));
  EXPECT_EQ(elements_of(page_of(chart))["path"] > 4, true);
}

}  // namespace
}  // namespace spire
