// Ratios of two reports by closed forms.
#include <gmock/gmock.h>

#include "tests/tools/bench/sample_report.h"
#include "tools/bench/report/bench_compare.h"

namespace spire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

BenchReport times(BenchReport report, double factor) {
  for (Point& point : report.points)
    for (Measurement& round : point.rounds) {
      round.samples_per_s *= factor;
      round.peak_rss *= 2;
    }
  return report;
}

// Rounds run at 1, 1.01 and 1.02 times a speed.
TEST(Comparison, GivesTheRatiosOfMediansAndOfAllPairs) {
  BenchReport first = sample_report(), second = times(first, 1.1);
  ReportComparison result = compared(first, second);
  ASSERT_THAT(result.points, SizeIs(first.points.size()));
  EXPECT_THAT(result.differences, IsEmpty());
  for (const PointRatios& point : result.points) {
    ASSERT_TRUE(point.speed);
    EXPECT_NEAR(point.speed->medians, 1.1, 1e-12);
    EXPECT_NEAR(point.speed->smallest, 1.1 / 1.02, 1e-12);
    EXPECT_NEAR(point.speed->largest, 1.1 * 1.02, 1e-12);
    EXPECT_EQ(point.rss, 2.0);
    EXPECT_EQ(point.device_memory, 1.0);
    EXPECT_EQ(verdict_of(point), "faster");
  }
}

TEST(Comparison, JudgesBeyondTheSpreadAlone) {
  BenchReport report = sample_report();
  auto verdict = [&](double factor) {
    return verdict_of(compared(report, times(report, factor)).points[0]);
  };
  EXPECT_EQ(verdict(1.019), "within the spread");
  EXPECT_EQ(verdict(1.021), "faster");
  EXPECT_EQ(verdict(1 / 1.019), "within the spread");
  EXPECT_EQ(verdict(1 / 1.021), "slower");
}

TEST(Comparison, OfOneRoundHasNoSpread) {
  BenchReport three = sample_report({.devices = {1}}),
              one = sample_report({.devices = {1}, .rounds = 1});
  for (const auto& [first, second] : {std::pair(three, one), {one, three}, {one, one}})
    EXPECT_EQ(verdict_of(compared(first, times(second, 2)).points[0]), "one round: no spread");
  BenchReport two = sample_report({.devices = {1}, .rounds = 2});
  EXPECT_EQ(verdict_of(compared(three, times(two, 2)).points[0]), "faster");
}

TEST(Comparison, OfASpeedOfZeroHasNoRatio) {
  BenchReport good = sample_report({.devices = {1}}), bad = good, none = times(good, 0);
  bad.points[0].rounds[1].samples_per_s = 0;
  BenchReport tiny = times(good, 1e-320), huge = times(good, 1e300);
  for (const auto& [first, second] : {std::pair(good, bad),
                                      {bad, good},
                                      {none, good},
                                      {good, none},
                                      {none, none},
                                      {tiny, huge}}) {
    EXPECT_EQ(compared(first, second).points[0].speed, std::nullopt);
    EXPECT_EQ(verdict_of(compared(first, second).points[0]), "unknown: a speed of 0");
    std::string text = compare_reports(first, second);
    EXPECT_THAT(text, Not(HasSubstr("inf")));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
  }
}

TEST(Comparison, NamesWhatDiffers) {
  BenchReport first = sample_report({.devices = {1, 2}, .scalings = {Scaling::strong}});
  BenchReport second = first;
  second.machine.cpu = "Intel Xeon";
  second.model = "mlp";
  second.batch_size = 64;
  second.config += "seed: 8\n";
  second.reduction = RunConfig::Reduction::native;
  first.points[1].rounds.clear();  // failed
  second.points.erase(second.points.begin());
  for (Measurement& round : second.points[1].rounds) round.peak_rss = 0;
  ReportComparison result = compared(first, second);
  EXPECT_THAT(result.differences,
              ElementsAre(HasSubstr("Intel Xeon"), "model: resnet20 and mlp",
                          "samples per tower: 128 and 64", "reduction: invariant and native",
                          HasSubstr("config")));
  EXPECT_THAT(result.points, SizeIs(6));
  EXPECT_EQ(result.points[0].rss, std::nullopt);
  EXPECT_THAT(result.only_first, ElementsAre(first.points[0].variant));
  EXPECT_THAT(result.only_second, ElementsAre(first.points[1].variant));
  std::string text = compare_reports(first, second);
  EXPECT_THAT(text, HasSubstr("warning: A and B differ in samples per tower: 128 and 64\n"));
  EXPECT_THAT(text, HasSubstr("only in A: strong scaling, 1 cpu, 1 process, 8 towers, fp32, "
                              "parameter_device\n"));
  EXPECT_THAT(text, HasSubstr("only in B: strong scaling, 2 cpu"));
  EXPECT_THAT(text, HasSubstr("0.980 to 1.020"));
}

TEST(Comparison, OfReportsWithNothingInCommon) {
  BenchReport first = sample_report({.scalings = {Scaling::strong}});
  BenchReport second = sample_report({.scalings = {Scaling::weak}});
  EXPECT_THAT(compare_reports(first, second), HasSubstr("no variant ran in both reports\n"));
}

}  // namespace
}  // namespace spire
