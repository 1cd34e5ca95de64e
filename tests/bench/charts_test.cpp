// Axes of charts by their definition.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include <spire/error.h>

#include "engine/bench/page/bench_charts.h"
#include "engine/page/svg_axis.h"
#include "tests/bench/sample_report.h"

namespace spire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

TEST(LinearAxis, StartsAtZeroAndEndsAtTheTickThatHoldsTheLargest) {
  EXPECT_THAT(linear_axis(1.0, 0, 1).ticks, SizeIs(6));  // 0, 0.2, ..., 1
  EXPECT_DOUBLE_EQ(linear_axis(1.0, 0, 1).high, 1.0);
  EXPECT_THAT(linear_axis(37, 0, 1).ticks, ElementsAre(0, 5, 10, 15, 20, 25, 30, 35, 40));
  for (double largest = 1e-7; largest < 1e13; largest *= 1.37) {
    ChartAxis axis = linear_axis(largest, 10, 110);
    double step = axis.ticks[1];
    double digit = step / std::pow(10, std::floor(std::log10(step * 1.000001)));
    EXPECT_LT(std::min({std::abs(digit - 1), std::abs(digit - 2), std::abs(digit - 5)}), 1e-6);
    EXPECT_THAT(axis.ticks.size(), AllOf(Ge(4u), Le(9u))) << largest;
    EXPECT_GE(axis.high, largest * (1 - 1e-9));
    EXPECT_LT(axis.high, largest + step);
    EXPECT_DOUBLE_EQ(axis.at(0), 10);
    EXPECT_DOUBLE_EQ(axis.at(axis.high / 4), 35);
    EXPECT_DOUBLE_EQ(axis.at(2 * axis.high), 110);
  }
  EXPECT_EQ(linear_axis(0, 0, 1).high, 1);
  EXPECT_EQ(linear_axis(std::nan(""), 0, 1).high, 1);
}

TEST(LogAxis, EndsAtTicksAroundTheValues) {
  ChartAxis axis = log_axis(960, 14011, 0, 100);
  EXPECT_THAT(axis.ticks, ElementsAre(500, 1000, 2000, 5000, 10000, 20000));
  EXPECT_DOUBLE_EQ(axis.at(std::sqrt(500.0 * 20000)), 50);
  EXPECT_THAT(log_axis(1000, 1000, 0, 1).ticks, ElementsAre(1000, 2000));
  EXPECT_THAT(log_axis(3, 3e6, 0, 1).ticks, ElementsAre(10, 100, 1000, 1e4, 1e5, 1e6));
  for (double value = 1e-9; value < 1e12; value *= 1.7) {
    ChartAxis around = log_axis(value, 3 * value, 0, 1);
    EXPECT_LE(around.low, value * (1 + 1e-6));
    EXPECT_GE(around.high, 3 * value * (1 - 1e-6));
  }
  EXPECT_THROW(log_axis(0, 1, 0, 1), Error);
}

TEST(CountAxis, SpacesDoublingsEvenly) {
  ChartAxis axis = count_axis({8, 1, 2, 4, 2}, 0, 100);
  EXPECT_THAT(axis.ticks, ElementsAre(1, 2, 4, 8));
  EXPECT_NEAR(axis.at(2) - axis.at(1), axis.at(8) - axis.at(4), 1e-9);
  EXPECT_GT(axis.at(1), 0);
  EXPECT_LT(axis.at(8), 100);
  EXPECT_DOUBLE_EQ(count_axis({4}, 0, 100).at(4), 50);
}

TEST(SpeedChart, HasMeasuredIdealAndModelledSeries) {
  BenchReport report = sample_report({.precisions = {Precision::bf16}});
  std::vector<ModelledPoint> modelled = {{Scaling::weak, 64, 9e4, "IB"},
                                         {Scaling::weak, 16, 3e4, "IB"},
                                         {Scaling::strong, 16, 3e4, "NVLink"}};
  LineChart chart = speed_chart(report, Scaling::weak, modelled);
  std::vector<std::string> labels;
  for (const LineSeries& series : chart.series) {
    if (series.style != LineStyle::ideal) labels.push_back(series.label);
    for (const LinePoint& point : series.points) {
      if (series.style != LineStyle::ideal) continue;
      double first = series.points[0].value;
      EXPECT_DOUBLE_EQ(point.value, first * static_cast<double>(point.count));
    }
  }
  EXPECT_THAT(labels,
              ElementsAre("IB (model, not measured)", "bf16, parameter_device", "bf16, mirrored"));
  EXPECT_EQ(chart.series.back().points[3].value,
            figures_of(report, report.points[15]).samples_per_s);
}

// Heights of the values beside the last points of a chart's series.
std::vector<double> end_labels_of(const std::string& svg) {
  std::vector<double> heights;
  std::string group = svg.substr(svg.find("<g class=\"value\">"));
  for (size_t at = group.find(" y=\""); at != group.npos; at = group.find(" y=\"", at + 1))
    heights.push_back(std::stod(group.substr(at + 4)));
  return heights;
}

TEST(SpeedChart, KeepsTheLabelsOfNearlyEqualValuesApart) {
  auto text = [](double value) { return fmt::format("{:.3f}", value); };
  for (double last : {10.0, 7.0, 1.0}) {
    LineChart chart{.title = "Speed",
                    .description = "",
                    .unit = "",
                    .logarithmic = true,
                    .tick_text = text,
                    .value_text = text};
    for (int64_t i = 0; i < 12; ++i) {
      double value = i == 11 ? last : 10 - 0.001 * static_cast<double>(i);
      LinePoint one{.count = 1, .value = value, .low = value, .high = value, .title = ""};
      LinePoint many = one;
      many.count = i % 2 == 0 ? 7 : 8;  // so near that their labels would overlap, too
      chart.series.push_back({.label = "s", .points = {one, many}});
    }
    auto labels = end_labels_of(line_chart(chart));
    ASSERT_THAT(labels, SizeIs(12));
    std::ranges::sort(labels);
    for (size_t i = 0; i < labels.size(); ++i) {
      EXPECT_THAT(labels[i], AllOf(Ge(13), Le(320)));  // within the drawing
      EXPECT_GE(labels[i] - (i > 0 ? labels[i - 1] : 0), 12.9);
    }
  }
}

TEST(EfficiencyChart, HasOnlyPointsWithABase) {
  BenchReport report = sample_report({.devices = {2, 4}});
  EXPECT_THAT(efficiency_chart(report, Scaling::strong).series, SizeIs(1));  // the ideal alone
  EXPECT_THAT(efficiency_chart(report, Scaling::strong).series[0].points, IsEmpty());
}

TEST(BarCharts, AddUpToTheFigures) {
  BenchReport report = sample_report();
  BarChart steps = step_chart(report, Scaling::strong);
  BarChart memory = memory_chart(report, Scaling::strong);
  ASSERT_THAT(steps.bars, SizeIs(16));
  EXPECT_THAT(memory.parts,
              ElementsAre("weights", "gradients", "optimizer", "activations", "workspace"));
  for (size_t i = 0; i < steps.bars.size(); ++i) {
    double sum = 0;
    for (double part : steps.bars[i].parts) sum += part;
    EXPECT_NEAR(sum, 1000 * figures_of(report, report.points[i]).step_seconds, 1e-9 * sum);
    auto n = static_cast<double>(report.points[i].variant.devices);
    EXPECT_EQ(memory.unit, "MiB");
    EXPECT_EQ(memory.bars[i].parts[3], 40 * n);
    EXPECT_THAT(memory.bars[i].marks, ElementsAre(47 * n + 4, 50 * n + 55));
  }
}

}  // namespace
}  // namespace spire
