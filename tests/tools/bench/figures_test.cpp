// Figures of points, checks of bits, the text for terminals, and ratios of two reports.
#include <algorithm>

#include <gmock/gmock.h>

#include "engine/observe/records.h"
#include "tests/base/message_of.h"
#include "tests/tools/bench/sample_report.h"
#include "tests/tools/words.h"
#include "tools/bench/report/bench_compare.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/report/bench_table.h"

namespace spire {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Median, OfOddAndEvenNumbers) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({7}), 7);
  EXPECT_THAT(message_of(Category::unexpected, [] { median({}); }), HasSubstr("no values"));
}

TEST(Median, RoundOfAnEvenNumberIsTheSlowerOfTheMiddle) {
  Point point;
  for (double speed : {4, 1, 3, 2}) point.rounds.emplace_back().samples_per_s = speed;
  EXPECT_THAT(speeds_of(point), ElementsAre(4, 1, 3, 2));
  EXPECT_EQ(&median_round(point), &point.rounds[3]);
  point.rounds.pop_back();
  EXPECT_EQ(&median_round(point), &point.rounds[2]);
  EXPECT_THAT(message_of(Category::unexpected, [] { median_round({}); }), HasSubstr("no rounds"));
}

TEST(Figures, CeilingOfEachPrecision) {
  Ceilings ceilings{.fp32_flops_per_s = 1, .bf16_flops_per_s = 2, .fp16_flops_per_s = 3};
  EXPECT_EQ(flops_per_s(ceilings, Precision::fp32), 1);
  EXPECT_EQ(flops_per_s(ceilings, Precision::bf16), 2);
  EXPECT_EQ(flops_per_s(ceilings, Precision::fp16), 3);
}

// sample_speed: round 1 of 3 is the median; efficiency is 0.97 to the power of the doublings.
TEST(Figures, FollowTheClosedFormOfTheSample) {
  BenchReport report = sample_report();
  for (const Point& point : report.points) {
    PointFigures figures = figures_of(report, point);
    const Variant& variant = point.variant;
    auto n = static_cast<double>(variant.devices);
    EXPECT_DOUBLE_EQ(figures.samples_per_s, sample_speed(variant, 1));
    EXPECT_DOUBLE_EQ(figures.slowest, sample_speed(variant, 0));
    EXPECT_DOUBLE_EQ(figures.fastest, sample_speed(variant, 2));
    EXPECT_NEAR(figures.efficiency.value(), std::pow(0.97, std::log2(n)), 1e-12);
    EXPECT_DOUBLE_EQ(figures.flops_per_s, 2.5e8 * figures.samples_per_s);
    double ceiling = (variant.precision == Precision::bf16 ? 2e12 : 1e12) * n;
    EXPECT_DOUBLE_EQ(figures.ceiling_share.value(), figures.flops_per_s / ceiling);
    EXPECT_EQ(figures.joules_per_sample, std::nullopt);
    EXPECT_EQ(figures.parameter_hash, point.rounds[0].parameter_hash);
    double sum = 0;
    for (const StepPart& part : step_parts) sum += figures.times.*part.seconds;
    EXPECT_NEAR(sum, figures.step_seconds, 1e-12 * figures.step_seconds);
    EXPECT_GT(figures.times.other, 0);
  }
}

TEST(Figures, OfPointsWithoutWhatTheyNeed) {
  BenchReport report = sample_report({.devices = {1, 2}, .scalings = {Scaling::strong}});
  report.ceilings.clear();
  report.points[0].rounds.clear();  // one device, fp32, parameter_device
  EXPECT_EQ(figures_of(report, report.points[0]).samples_per_s, 0);
  EXPECT_EQ(figures_of(report, report.points[1]).efficiency, std::nullopt);
  EXPECT_EQ(figures_of(report, report.points[1]).ceiling_share, std::nullopt);
  EXPECT_TRUE(figures_of(report, report.points[3]).efficiency);
  report.points[3].variant.processes = 2;  // compared with one process all the same
  EXPECT_TRUE(figures_of(report, report.points[3]).efficiency);
  report.points[2].variant.processes = 2;
  EXPECT_EQ(figures_of(report, report.points[3]).efficiency, std::nullopt);
}

TEST(Figures, OfAnEvenNumberOfRoundsWithJoulesAndOverfullTimes) {
  BenchReport report = sample_report({.devices = {1}, .scalings = {Scaling::strong}, .rounds = 2});
  Point& point = report.points[0];
  point.rounds[0].joules = 100;
  point.rounds[1].joules = 300;
  point.rounds[0].times.forward = 10;  // more than the step
  PointFigures figures = figures_of(report, point);
  EXPECT_DOUBLE_EQ(figures.samples_per_s, 1005);
  EXPECT_EQ(figures.step_seconds, point.rounds[0].step_seconds);
  EXPECT_EQ(figures.times.other, 0);
  EXPECT_DOUBLE_EQ(figures.joules_per_sample.value(), 200.0 / (20 * 128 * 8));
}

TEST(Memory, IsTheMostOfAnyRoundKindByKind) {
  Point point{.variant = {}, .rounds = {{}, {}}, .error = {}};
  point.rounds[0].peak_memory = {{"weights", 5}, {"arena", 7}};
  point.rounds[1].peak_memory = {{"arena", 9}, {"workspace", 2}};
  point.rounds[1].peak_rss = 40;
  PointMemory memory = memory_of(point);
  EXPECT_EQ(memory.peak, (MemoryOfKinds{{"weights", 5}, {"arena", 9}, {"workspace", 2}}));
  EXPECT_EQ(total_bytes(memory.peak), 16);
  EXPECT_EQ(memory.rss, 40);
  EXPECT_TRUE(memory.planned.empty());
}

TEST(SameBits, ComparesAllRoundsOfStrongPoints) {
  BenchReport report = sample_report();
  EXPECT_EQ(same_bits(report, Precision::fp32), true);
  EXPECT_EQ(same_bits(report, Precision::bf16), true);
  EXPECT_EQ(same_bits(report, Precision::fp16), std::nullopt);
  report.points[1].rounds[2].parameter_hash = "another";
  EXPECT_EQ(same_bits(report, Precision::fp32), false);
  EXPECT_EQ(same_bits(report, Precision::bf16), true);
  EXPECT_EQ(tick_of(report, report.points[0]), "✓");
  EXPECT_EQ(tick_of(report, report.points[1]), "✗");
  EXPECT_EQ(tick_of(report, report.points.back()), "");  // weak
  EXPECT_EQ(figures_of(report, report.points[1]).parameter_hash, "");
}

TEST(SameBits, NeedTwoPointsOfOneKindOfDevice) {
  BenchReport report = sample_report({.devices = {1, 2},
                                      .precisions = {Precision::fp32},
                                      .strategies = {Strategy::sharded},
                                      .scalings = {Scaling::strong}});
  report.points[1].variant.kind = Kind::cuda;
  EXPECT_EQ(same_bits(report, Precision::fp32), std::nullopt);
  EXPECT_EQ(tick_of(report, report.points[0]), "");
  report.points[1].variant.kind = Kind::cpu;
  EXPECT_EQ(same_bits(report, Precision::fp32), true);
  report.points[1].rounds.clear();
  EXPECT_EQ(same_bits(report, Precision::fp32), std::nullopt);
}

TEST(SameBits, AreNotPromisedByTheNativeReduction) {
  BenchReport report = sample_report();
  report.points[1].rounds[2].parameter_hash = "another";
  report.reduction = RunConfig::Reduction::native;
  EXPECT_EQ(same_bits(report, Precision::fp32), std::nullopt);
  for (const Point& point : report.points) EXPECT_EQ(tick_of(report, point), "");
  EXPECT_THAT(tables_of(report).notes, IsEmpty());
  for (const std::string& text : {table_text(report), bench_html(report)})
    for (const char* promise : {"✓", "✗", "same bits"}) EXPECT_THAT(text, Not(HasSubstr(promise)));
}

TEST(Series, HaveAscendingCountsAndSplitByProcessesOnlyWhereNeeded) {
  BenchReport report = sample_report({.devices = {4, 1, 2}, .scalings = {Scaling::strong}});
  EXPECT_THAT(series_of(report), SizeIs(4));
  for (int64_t processes : {2, 4}) {
    Point several = report.points[0];  // of 4 devices
    several.variant.processes = processes;
    report.points.push_back(several);
    EXPECT_THAT(series_of(report), SizeIs(processes == 2 ? 5 : 6));
  }
  std::vector<std::string> labels;
  for (const BenchSeries& series : series_of(report)) labels.push_back(series.label);
  EXPECT_THAT(labels,
              ElementsAre("fp32, parameter_device", "fp32, mirrored", "bf16, parameter_device",
                          "bf16, mirrored", "fp32, parameter_device, 2 processes",
                          "fp32, parameter_device, 4 processes"));
  std::vector<int64_t> devices;
  std::vector<BenchSeries> all = series_of(report);
  for (const Point* point : all[0].points) devices.push_back(point->variant.devices);
  EXPECT_THAT(devices, ElementsAre(1, 2, 4));
}

TEST(Cells, Golden) {
  EXPECT_EQ(figure_text(0), "0");
  EXPECT_EQ(figure_text(0.01234), "0.0123");
  EXPECT_EQ(figure_text(9.9996), "10.00");
  EXPECT_EQ(figure_text(99.996), "100.0");
  EXPECT_EQ(figure_text(12345.6), "12 346");
  EXPECT_EQ(figure_text(1e300), "1.000e+300");
  EXPECT_EQ(figure_text(std::nan("")), "-");
  EXPECT_EQ(scaled_text(1.234e12), "1.234 T");
  EXPECT_EQ(share_text(0.9271), "92.7%");
}

// Each row has as many cells as the heading; the figures are those of figures_of.
TEST(Table, HasARowForEachPointAndNotes) {
  BenchReport report = sample_report({.devices = {1, 2}, .scalings = {Scaling::strong}});
  BenchTables tables = tables_of(report);
  for (const TextTable* table : {&tables.speed, &tables.step, &tables.memory}) {
    ASSERT_THAT(*table, SizeIs(report.points.size() + 1));
    EXPECT_THAT(*table, Each(SizeIs(table->front().size())));
  }
  EXPECT_THAT(tables.speed[2], ElementsAre("strong", "2 cpu", "1", "8", "fp32", "parameter_device",
                                           "1 959", "1 940 to 1 979", "97.0%", "0.490", "24.5%",
                                           "-", "-", "0.773", "c81e728d9d4c2f63 ✓"));
  EXPECT_THAT(tables.notes, ElementsAre("same bits on every count: fp32 ✓, bf16 ✓"));
  std::string text = table_text(report);
  expect_parts(text,
               {"resnet20, 272 474 parameters, 128 samples per tower and step", "package-0 (RAPL)",
                "155.0 MiB", "\nsame bits on every count: fp32 ✓, bf16 ✓\n"});
}

TEST(Table, TellsWhatOthersUsed) {
  BenchReport report =
      sample_report({.devices = {1, 2}, .scalings = {Scaling::strong}, .rounds = 3});
  report.machine.cores = 2;
  auto others = [&](double most) {
    auto& rounds = report.points[1].rounds;
    rounds[0].others_cores = most;
    rounds[1].others_cores = {};
    rounds[2].others_cores = most - 0.125;
  };
  others(0.25);  // the median is 0.1875, below a tenth of what two threads want
  EXPECT_THAT(tables_of(report).notes, Not(Contains(HasSubstr("others used"))));
  others(1.625);
  EXPECT_EQ(figures_of(report, report.points[1]).others_cores, 1.5625);
  EXPECT_EQ(tables_of(report).speed[2][variant_columns + 6], "1.562");
  std::string note =
      "others used up to 1.6 of 2 cores meanwhile: on cores of its own the model is faster";
  EXPECT_THAT(table_text(report), HasSubstr(note));
  EXPECT_THAT(bench_html(report, {}), HasSubstr(note));
}

TEST(Table, NamesPointsThatFailed) {
  BenchReport report = sample_report({.devices = {1, 2}, .scalings = {Scaling::strong}});
  report.points[1].rounds.clear();
  report.points[1].error = "cuda:1 is lost";
  EXPECT_THAT(table_text(report),
              HasSubstr("failed: strong scaling, 2 cpu, 1 process, 8 towers, fp32, "
                        "parameter_device: cuda:1 is lost\n"));
  EXPECT_EQ(tables_of(report).speed[2].back(), "failed");
  report.points.clear();
  report.ceilings.clear();
  EXPECT_THAT(table_text(report), Not(HasSubstr("speed")));
}

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
  expect_parts(text, {"warning: A and B differ in samples per tower: 128 and 64\n",
                      "only in A: strong scaling, 1 cpu, 1 process, 8 towers, fp32, "
                      "parameter_device\n",
                      "only in B: strong scaling, 2 cpu", "0.980 to 1.020"});
}

TEST(Comparison, OfReportsWithNothingInCommon) {
  BenchReport first = sample_report({.scalings = {Scaling::strong}});
  BenchReport second = sample_report({.scalings = {Scaling::weak}});
  EXPECT_THAT(compare_reports(first, second), HasSubstr("no variant ran in both reports\n"));
}

}  // namespace
}  // namespace spire
