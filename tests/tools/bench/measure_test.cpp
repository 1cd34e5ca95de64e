// A measured run is the run of train(): its weights, its samples, its memory. Ranks are joined, and
// measurements pass between processes unchanged. The order of a benchmark's runs, the number of its
// steps, and what failures leave.
#include "tools/bench/runs/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>
#include <spire/train.h>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/observe/records.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/runs/rounds.h"

namespace spire {
namespace {

using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

RunConfig small_config(const std::string& devices) {
  return parse_config({},
                      {"model.name=mlp", "model.hidden=[16]", "data.name=synthetic",
                       "data.synthetic.kind=features", "data.synthetic.shape=[8]",
                       "data.synthetic.samples=100", "batch_size=8", "towers=2", "tower_threads=1",
                       "devices=" + devices, "eval.every_steps=1", "checkpoint.every_steps=1"})
      .config;
}

Measurement full_measurement() {
  Measurement m;
  m.samples_per_s = 1.0 / 3;
  m.step_seconds = 0.25;
  m.first_step_seconds = 1.5;
  double seconds = -1e-9;
  for (const StepPart& part : step_parts) m.times.*part.seconds = seconds += 0.125;
  m.times.other = 1e-12;
  m.parameter_hash = "0123456789abcdef";
  m.planned_memory = {{"weights", int64_t{1} << 40}, {"activations", 7}};
  m.peak_memory = {{"weights", 3}};
  m.peak_rss = 4096;
  return m;
}

void expect_equal(const Measurement& a, const Measurement& b) {
  EXPECT_EQ(a.samples_per_s, b.samples_per_s);
  EXPECT_EQ(a.step_seconds, b.step_seconds);
  EXPECT_EQ(a.first_step_seconds, b.first_step_seconds);
  for (const StepPart& part : step_parts)
    EXPECT_EQ(a.times.*part.seconds, b.times.*part.seconds) << part.name;
  EXPECT_EQ(a.parameter_hash, b.parameter_hash);
  EXPECT_EQ(a.planned_memory, b.planned_memory);
  EXPECT_EQ(a.peak_memory, b.peak_memory);
  EXPECT_EQ(a.peak_rss, b.peak_rss);
  EXPECT_EQ(a.joules, b.joules);
  EXPECT_EQ(a.others_cores, b.others_cores);
}

// One step of 16 samples is one of step_seconds: both count the same steps.
TEST(Measure, TimesTheStepsOfAnOrdinaryRun) {
  RunConfig config = small_config("cpu");
  Measurement m = measure(config, {.steps = 3, .warmup = 2, .started = steady_clock::now()});
  Observer silent;
  RunOptions dry;
  dry.dry_run = 5;
  RunSummary run = train(config, dry, silent).summary;
  EXPECT_EQ(m.parameter_hash, run.parameter_hash);
  EXPECT_NEAR(m.samples_per_s * m.step_seconds, 16, 1e-9);
  EXPECT_GT(m.first_step_seconds, 0);
  EXPECT_GT(m.peak_rss, 0);
  for (const auto& [kind, bytes] : m.planned_memory)
    EXPECT_EQ(bytes, run.planned_memory_bytes.at(kind)) << kind;
  EXPECT_EQ(m.planned_memory, m.peak_memory);  // a plan is what is allocated, without evaluations
  EXPECT_THROW(measure(config, {.steps = 1, .warmup = 0}), Error);
}

TEST(Measure, GivesEachRankItsOwnAndJoinsThem) {
  RunConfig config = small_config("cpu");
  MeasureOptions options{.steps = 2, .warmup = 1, .started = steady_clock::now()};
  auto worlds = threads_world(2, {.cores = allowed_cores(), .on_exit_timeout = {}});
  std::vector<Measurement> ranks(2);
  {
    auto other =
        start_thread({"rank 1", {}}, [&] { ranks[1] = measure(config, options, worlds[1].get()); });
    ranks[0] = measure(config, options, worlds[0].get());
  }
  for (const Measurement& rank : ranks) EXPECT_GT(rank.samples_per_s, 0);
  Measurement all = combined(ranks);
  EXPECT_EQ(all.parameter_hash, measure(config, options).parameter_hash);
  EXPECT_EQ(all.peak_rss, ranks[0].peak_rss + ranks[1].peak_rss);
  EXPECT_EQ(all.samples_per_s, ranks[0].samples_per_s);
}

TEST(Measure, JoinsBytesBySumsAndTimesByMeans) {
  std::vector<Measurement> ranks(2, full_measurement());
  ranks[0].joules = 5;  // the machine's
  ranks[1].first_step_seconds = 2;
  ranks[1].times.forward = ranks[0].times.forward + 1;
  ranks[1].peak_memory = {{"weights", 10}, {"gradients", 1}};
  Measurement all = combined(ranks);
  EXPECT_EQ(all.joules, 5);
  EXPECT_EQ(all.first_step_seconds, 2);
  EXPECT_NEAR(all.times.forward, ranks[0].times.forward + 0.5, 1e-15);
  EXPECT_EQ(all.peak_memory, (MemoryOfKinds{{"gradients", 1}, {"weights", 13}}));
  EXPECT_EQ(all.peak_rss, 2 * 4096);
  ranks[1].parameter_hash = "0";
  EXPECT_THROW(combined(ranks), Error);
}

Measurement parsed(const std::string& text) {
  return parse_measurement_json(text, "test");
}

TEST(MeasurementMessage, KeepsEveryField) {
  Measurement m = full_measurement();
  expect_equal(parsed(measurement_json(m)), m);
  m.joules = 1e-3;
  expect_equal(parsed(measurement_json(m)), m);
}

TEST(MeasurementMessage, IsRefusedWhereItIsDamaged) {
  std::string good = measurement_json(full_measurement());
  std::string cut = good.substr(0, good.size() - 1), renamed = good, text = good;
  renamed.replace(renamed.find("peak_rss"), 8, "peak_RSS");
  text.replace(text.find("4096"), 4, "true");
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{}"), cut, renamed, text})
    EXPECT_THROW(parsed(bad), Error) << bad;
}

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
