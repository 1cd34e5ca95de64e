// The order of a benchmark's runs, the number of its steps, and what failures leave.
#include "tools/bench/runs/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Runs nothing: it takes notes. A variant's number is its devices.
struct Notes {
  BenchReport report;
  std::vector<int64_t> order, steps;
  std::vector<std::string> lines;
  int64_t fails = 0, stops_after = 1000;  // the variant that fails; runs until the user stops

  explicit Notes(int64_t variants) {
    for (int64_t i = 1; i <= variants; ++i) report.points.push_back({{.devices = i}, {}, ""});
  }
  bool run(const RoundOptions& options) {
    auto run_variant = [this](const Variant& variant, int64_t count, int64_t warmup) {
      EXPECT_EQ(warmup, count == 3 ? 1 : 3);  // 3 steps: a trial
      if (std::ssize(order) == stops_after) fail(Category::interrupted, "stopped");
      order.push_back(variant.devices);
      steps.push_back(count);
      if (variant.devices == fails) fail(Category::out_of_memory, "too large");
      Measurement result;
      result.samples_per_s = 1000;
      result.step_seconds = 0.02;
      return result;
    };
    return run_rounds(report, options, run_variant,
                      [this](const std::string& line) { lines.push_back(line); });
  }
};

TEST(Rounds, RotateTheVariants) {
  Notes notes(3);
  EXPECT_TRUE(notes.run({.rounds = 4, .steps = 7}));
  EXPECT_THAT(notes.order, ElementsAre(1, 2, 3, 2, 3, 1, 3, 1, 2, 1, 2, 3));
  for (const Point& point : notes.report.points) EXPECT_EQ(point.rounds.size(), 4u);
  EXPECT_EQ(notes.report.steps, 7);
  EXPECT_EQ(notes.report.warmup, 3);
  ASSERT_EQ(notes.lines.size(), 2u * 12);  // before and after each run
  EXPECT_THAT(notes.lines[22], HasSubstr("round 4/4: strong scaling, 3 cpu"));
  EXPECT_THAT(notes.lines[23], HasSubstr("1 000 samples/s"));
}

// steps = ceil(seconds / seconds of a step), the same for all variants. The variant with the fewest
// towers a device is tried.
TEST(Rounds, FindTheStepsByATrial) {
  Notes notes(2);
  for (Point& point : notes.report.points) point.variant.towers = 2;
  EXPECT_TRUE(notes.run({.rounds = 1, .seconds = 1.99}));
  EXPECT_THAT(notes.order, ElementsAre(2, 1, 2));
  EXPECT_THAT(notes.steps, ElementsAre(3, 100, 100));
}

TEST(Rounds, GoOnWithoutAVariantThatFails) {
  Notes notes(3);
  notes.fails = 3;
  EXPECT_TRUE(notes.run({.rounds = 2}));
  EXPECT_THAT(notes.order, ElementsAre(3, 2, 1, 2, 2, 1));  // the trial fails, the next one counts
  EXPECT_EQ(notes.report.points[2].error, "too large");
  EXPECT_TRUE(notes.report.points[2].rounds.empty());
  EXPECT_EQ(notes.report.points[1].rounds.size(), 2u);
}

TEST(Rounds, KeepWhatWasMeasuredBeforeAStop) {
  Notes notes(3);
  notes.stops_after = 2;
  EXPECT_FALSE(notes.run({.rounds = 2, .steps = 7}));
  ASSERT_EQ(notes.report.points.size(), 2u);
  for (const Point& point : notes.report.points) EXPECT_EQ(point.rounds.size(), 1u);
}

}  // namespace
}  // namespace spire
