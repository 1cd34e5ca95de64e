// What a page reads of metrics.jsonl: thinned, with gaps, and whatever the file holds.
#include <cmath>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>

#include "engine/base/fail.h"
#include "tests/data/test_files.h"
#include "tools/report/run_files.h"

namespace spire {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

TEST(DownsampledCurve, KeepsAllValuesOfAShortCurve) {
  DownsampledCurve curve;
  for (int i = 0; i < 100; ++i) curve.add(i, 2 * i);
  auto points = curve.points();
  ASSERT_EQ(points.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(points[static_cast<size_t>(i)].x, i);
    EXPECT_EQ(points[static_cast<size_t>(i)].y, 2 * i);
  }
}

TEST(DownsampledCurve, KeepsExtremesAndMeanOfAMillionValues) {
  DownsampledCurve curve;
  double sum = 0;
  constexpr int count = 1'000'000;
  for (int i = 0; i < count; ++i) {
    double y = i == 700'001 ? 1e6 : i == 31 ? -7 : std::sin(i * 1e-3);
    curve.add(i, y);
    sum += y;
  }
  auto points = curve.points();
  EXPECT_LE(points.size(), DownsampledCurve::most_points);
  EXPECT_GE(points.size(), DownsampledCurve::most_points / 2);
  double low = 0, high = 0, last_x = -1;
  for (const CurvePoint& point : points) {
    low = std::min(low, point.low);
    high = std::max(high, point.high);
    EXPECT_GE(point.y, point.low);
    EXPECT_LE(point.y, point.high);
    EXPECT_GT(point.x, last_x);
    last_x = point.x;
  }
  EXPECT_EQ(low, -7);
  EXPECT_EQ(high, 1e6);
  auto width = static_cast<double>(curve.width());
  double total = (count - width * static_cast<double>(points.size() - 1)) * points.back().y;
  for (size_t i = 0; i + 1 < points.size(); ++i) total += width * points[i].y;
  EXPECT_NEAR(total, sum, 1e-9 * 1e6);
}

TEST(DownsampledCurve, HasGapsOnlyWhereNothingWasFinite) {
  DownsampledCurve curve;
  curve.add(0, 1);
  curve.add(1, no_number);
  curve.add(2, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(curve.points()[1].y));
  EXPECT_TRUE(std::isnan(curve.points()[2].y));
  for (int i = 3; i < 5000; ++i) curve.add(i, i % 2 == 0 ? 1 : no_number);
  for (const CurvePoint& point : curve.points()) EXPECT_EQ(point.y, 1);
}

class MetricsFileText : public ::testing::Test {
 protected:
  RunMetrics read(const std::string& text) {
    std::ofstream(folder_ / "metrics.jsonl") << text;
    return read_run_metrics(folder_ / "metrics.jsonl", best_);
  }
  Folder folder_;
  BestConfig best_;
};

// Values of a group share a point, and the widths of points count groups.
TEST(DownsampledCurve, MergesGroups) {
  DownsampledCurve curve;
  for (int i = 0; i < 1000; ++i) curve.add(i, i % 10, i / 10);
  auto points = curve.points();
  ASSERT_EQ(points.size(), 100u);
  for (const CurvePoint& point : points) {
    EXPECT_EQ(point.y, 4.5);
    EXPECT_EQ(point.low, 0);
    EXPECT_EQ(point.high, 9);
  }
  EXPECT_EQ(points[3].x, 34.5);
  for (int i = 1000; i < 8000; ++i) curve.add(i, i % 10, i / 10);
  EXPECT_EQ(curve.width(), 4);
  EXPECT_EQ(curve.points().size(), 200u);
  for (const CurvePoint& point : curve.points()) EXPECT_EQ(point.y, 4.5);
}

// The best is the lowest where best.mode turns the metric round.
TEST_F(MetricsFileText, BestModeDecidesWhichEvaluationIsTheBest) {
  std::string text;
  for (auto [step, value] : {std::pair{1, 0.5}, {2, 0.25}, {3, 0.75}})
    text += fmt::format(R"({{"step":{},"epoch":{},"val/loss":1,"val/accuracy":{}}})", step, step,
                        value) +
            "\n";
  EXPECT_EQ(read(text).best, 0.75);
  best_.mode = BestConfig::Mode::min;
  EXPECT_EQ(read(text).best, 0.25);
  EXPECT_EQ(read(text).best_step, 2);
}

const std::string step_line =
    R"({"time":"2026-01-31T12:00:00Z","step":7,"epoch":0.5,"train/loss":2.5,"train/accuracy":0.25,)"
    R"("train/lr":0.1,"train/grad_norm":3,"perf/samples_per_s":100,"time/forward_ms":4,)"
    R"("time/comm_wait_ms":2})"
    "\n";
const std::string eval_line =
    R"({"time":"2026-01-31T12:00:05Z","step":7,"epoch":0.5,"val/loss":2,"val/accuracy":0.5})"
    "\n";

TEST_F(MetricsFileText, HasStepsEvaluationsCheckpointsAndDevices) {
  RunMetrics metrics =
      read(step_line + eval_line + R"({"step":7,"checkpoint/bytes":10})" + "\n" +
           R"({"step":7,"device":"cuda:1","rank":2,"device/busy":0.5,"device/arrival_ms":12,)" +
           R"("device/memory_used_bytes":1024,"device/throttled":["heat","power cap"]})" + "\n");
  EXPECT_EQ(metrics.lines, 4);
  EXPECT_EQ(metrics.unreadable, 0);
  EXPECT_EQ(metrics.steps, 7);
  EXPECT_EQ(metrics.metric, Metric::accuracy);
  EXPECT_EQ(metrics.best, 0.5);
  EXPECT_EQ(metrics.best_step, 7);
  EXPECT_EQ(metrics.curves["train/loss"].points().back().y, 2.5);
  EXPECT_EQ(metrics.curves["val/loss"].points().back().y, 2);
  EXPECT_EQ(metrics.curves["time/forward_ms"].points().back().y, 4);
  EXPECT_EQ(metrics.curves["time/comm_wait_ms"].points().back().y, 2);
  EXPECT_EQ(metrics.first_time, "2026-01-31T12:00:00Z");
  EXPECT_EQ(metrics.last_time, "2026-01-31T12:00:05Z");
  const DeviceCurves& device = metrics.devices.at("rank 2 cuda:1");
  EXPECT_EQ(device.curves.at("device/busy").points().back().y, 0.5);
  EXPECT_EQ(device.curves.at("device/arrival_ms").points()[0].x, 0.5);  // of the step before
  EXPECT_FALSE(device.curves.contains("device/celsius"));
  EXPECT_EQ(device.throttled.at("heat"), 1);
}

TEST_F(MetricsFileText, MayBeMissingEmptyOrTorn) {
  EXPECT_EQ(read_run_metrics(folder_ / "none").lines, 0);
  EXPECT_EQ(read("").lines, 0);
  RunMetrics torn = read(step_line + eval_line.substr(0, 40));
  EXPECT_EQ(torn.lines, 1);
  EXPECT_EQ(torn.unreadable, 0);
  RunMetrics whole = read(step_line + eval_line.substr(0, eval_line.size() - 1));
  EXPECT_EQ(whole.lines, 2);  // all but its newline was written
}

TEST_F(MetricsFileText, MayHoldAnything) {
  RunMetrics metrics =
      read("no JSON\n[1]\n{}\n{\"step\":\"7\"}\n\n" + std::string(3 << 20, 'x') +
           "\n{\"step\":3,\"train/loss\":\"high\",\"epoch\":\"a\"}\n\xff\xfe\n" + step_line);
  EXPECT_EQ(metrics.unreadable, 6);
  EXPECT_EQ(metrics.lines, 2);
  EXPECT_EQ(metrics.not_finite, 1);
  EXPECT_EQ(metrics.first_not_finite, 3);
  EXPECT_EQ(metrics.curves["train/loss"].points().back().y, 2.5);
}

TEST_F(MetricsFileText, CountsStepsWhoseLossWasNotFinite) {
  RunMetrics metrics = read(step_line + R"({"step":8,"epoch":0.6,"train/loss":null})" + "\n" +
                            R"({"step":9,"epoch":0.7,"train/loss":null})" + "\n");
  EXPECT_EQ(metrics.not_finite, 2);
  EXPECT_EQ(metrics.first_not_finite, 8);
  EXPECT_EQ(metrics.curves["train/loss"].points().size(), 3u);
}

TEST_F(MetricsFileText, TakesTheBestOfAMetricThatIsToBeLow) {
  RunMetrics metrics = read(
      "{\"step\":1,\"val/loss\":2,\"val/perplexity\":9}\n"
      "{\"step\":2,\"val/loss\":1,\"val/perplexity\":4}\n"
      "{\"step\":3,\"val/loss\":1,\"val/perplexity\":5}\n"
      "{\"step\":4,\"val/loss\":null,\"val/perplexity\":null}\n");
  EXPECT_EQ(metrics.best, 4);
  EXPECT_EQ(metrics.best_step, 2);
}

TEST_F(MetricsFileText, AFolderInItsPlaceIsAnError) {
  EXPECT_THROW(read_run_metrics(folder_ / "."), Error);
}

}  // namespace
}  // namespace spire
