// Results of a sweep: read from summary.json, ranked, as a table, as CSV and as JSON.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "tests/observe/page/drawn_page.h"
#include "tests/tools/program.h"
#include "tools/sweep/results.h"

namespace spire {
namespace {

using State = PointResult::State;
using testing::ElementsAre;
using testing::HasSubstr;

PointResult done(Metric metric, double best) {
  PointResult result;
  result.state = State::done;
  result.steps = 10;
  result.last = MetricValue{metric, best};
  result.best_by = metric;
  result.best = best;
  return result;
}

PointResult without_metric(double train_loss) {
  PointResult result;
  result.state = State::done;
  result.steps = 10;
  result.train_loss = train_loss;
  return result;
}

TEST(SweepRanking, PutsTheBestMetricFirstWhicheverWayIsBetter) {
  EXPECT_THAT(sweep_ranking({done(Metric::accuracy, 0.5), done(Metric::accuracy, 0.9)}),
              ElementsAre(1, 0));
  EXPECT_THAT(sweep_ranking({done(Metric::rmse, 0.5), done(Metric::rmse, 0.9)}), ElementsAre(0, 1));
  EXPECT_THAT(sweep_ranking({done(Metric::accuracy, std::nan("")), done(Metric::accuracy, 0.1)}),
              ElementsAre(1, 0));
}

TEST(SweepRanking, RanksByLossWithoutMetricAndKeepsFailuresLast) {
  PointResult failed{.state = State::failed};
  EXPECT_THAT(sweep_ranking({failed, without_metric(2), without_metric(std::nan("")),
                             without_metric(1), done(Metric::accuracy, 0.1)}),
              ElementsAre(4, 3, 1, 2, 0));
}

TEST(SweepRanking, KeepsTheOrderOfTheGridAmongEqualPoints) {
  EXPECT_THAT(sweep_ranking({done(Metric::accuracy, 0.5), done(Metric::accuracy, 0.5)}),
              ElementsAre(0, 1));
}

struct Ending {
  std::string exit;
  State state;
};

// Only code 0 and a divergence are ends that the same command would reach again.
TEST(PointResult, IsOverOnlyWhereTheRunHasNothingLeftToDo) {
  WorkFolder folder;
  for (const Ending& ending : {Ending{"0", State::done}, Ending{"7", State::diverged},
                               Ending{"75", State::interrupted}, Ending{"4", State::interrupted}}) {
    folder.write("summary.json", R"({"exit": )" + ending.exit + R"(, "stopped_by": "", "steps": 3,
        "train_loss": null, "samples_per_s": 5, "seconds": 1, "parameter_hash": "ab",
        "val": {"loss": 0.5, "accuracy": 0.8, "best_accuracy": 0.9}})");
    PointResult result = read_point_result(folder / "");
    EXPECT_EQ(result.state, ending.state) << ending.exit;
    EXPECT_EQ(result.best, 0.9);
    EXPECT_EQ(result.last, (MetricValue{Metric::accuracy, 0.8}));
    EXPECT_TRUE(std::isnan(result.train_loss));
  }
}

// What is best may be another metric than the last evaluation's first.
TEST(PointResult, SaysWhichMetricIsBest) {
  WorkFolder folder;
  folder.write("summary.json", R"({"exit": 0, "stopped_by": "", "steps": 3, "train_loss": 1,
      "samples_per_s": 5, "seconds": 1, "parameter_hash": "ab",
      "val": {"loss": 0.5, "accuracy": 0.8, "best_loss": 0.25}})");
  EXPECT_EQ(outcome_text(read_point_result(folder / "")),
            "done, best test loss 0.2500, 5 samples/s, 0:01");
  folder.write("summary.json", R"({"exit": 0, "stopped_by": "", "steps": 3, "train_loss": 1,
      "samples_per_s": 5, "seconds": 1, "parameter_hash": "ab",
      "val": {"loss": 0.5, "rmse": 0.8, "r2": 0.5, "best_r2": 0.75, "data": "validation"},
      "test": {"loss": 0.5, "rmse": 0.9, "r2": 0.625, "step": 2}})");
  PointResult result = read_point_result(folder / "");
  EXPECT_EQ(result.last, (MetricValue{Metric::r2, 0.5}));
  EXPECT_EQ(outcome_text(result),
            "done, test r2 0.6250, best validation r2 0.7500, 5 samples/s, 0:01");
}

// A metric that best.mode turns round ranks the other way.
TEST(PointResult, BestModeOfTheRunDecidesTheRank) {
  WorkFolder folder;
  auto result_of = [&](double best) {
    folder.write("summary.json", fmt::format(R"({{"exit": 0, "stopped_by": "", "steps": 3,
        "train_loss": 1, "samples_per_s": 5, "seconds": 1, "parameter_hash": "ab",
        "val": {{"loss": 0.5, "accuracy": {0}, "best_accuracy": {0}}}}})",
                                             best));
    return read_point_result(folder / "");
  };
  EXPECT_EQ(sweep_ranking({result_of(0.25), result_of(0.75)}), (std::vector<size_t>{1, 0}));
  folder.write("config.yaml", "best: {mode: min}\n");
  EXPECT_EQ(sweep_ranking({result_of(0.25), result_of(0.75)}), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(sweep_ranking({result_of(0.75), result_of(0.25)}), (std::vector<size_t>{1, 0}));
}

TEST(PointResult, OfABrokenOrMissingFileIsInterrupted) {
  WorkFolder folder;
  EXPECT_EQ(read_point_result(folder / "").state, State::interrupted);
  for (const char* text : {"", "{", "[]", "{\"exit\": 0}", "{\"exit\": \"0\"}"}) {
    folder.write("summary.json", text);
    EXPECT_EQ(read_point_result(folder / "").state, State::interrupted) << text;
  }
}

SweepReport two_points() {
  SweepReport report;
  report.request = {
      {{"run.yaml", "batch_size: 8\n"}}, {"model.name=mlp"}, {{"optimizer.lr", {"0.1", "0.2"}}}};
  report.points =
      sweep_points(report.request, {SweepSlot{.device = {}, .uuid = "", .cores = {0, 1}}});
  report.results = {done(Metric::accuracy, 0.25), done(Metric::accuracy, 0.75)};
  report.results[0].loss = 0.5;
  report.results[0].hash = "00000000000000aa";
  report.results[1] = {};
  report.results[1].state = State::failed;
  report.results[1].exit = 4;
  report.results[1].message = "no file, \"x\"";
  return report;
}

TEST(SweepTable, HasALineForEachPointAndTheMessagesOfFailures) {
  EXPECT_EQ(sweep_table(two_points()),
            "lr   best test accuracy  last accuracy  loss    samples/s  time  parameter hash    "
            "state\n"
            "0.1  25.00%              25.00%         0.5000  0          0:00  00000000000000aa  "
            "done\n"
            "0.2  -                   -              -       -          -     -                 "
            "failed (4)\n"
            "\n2-lr=0.2: no file, \"x\"\n");
}

// Runs of different metrics or data: each figure says what it is of.
TEST(SweepTable, LeadsWithTheTestAndNamesWhatDiffers) {
  SweepReport report = two_points();
  report.results = {done(Metric::r2, 0.75), done(Metric::r2, 0.5)};
  for (PointResult& result : report.results) {
    result.held_out = true;
    result.test = MetricValue{Metric::r2, 0.25};
  }
  EXPECT_THAT(sweep_table(report),
              testing::StartsWith("lr   test r2  best validation r2  last r2  loss "));
  EXPECT_THAT(sweep_csv(report), HasSubstr(",validation,0.25\r\n"));
  report.results[1].held_out = false;
  report.results[1].test.reset();
  expect_parts(sweep_table(report), {"\n0.1  0.2500   validation r2 0.7500  0.7500 ",
                                     "\n0.2  -        test r2 0.5000        0.5000 "});
}

TEST(SweepCsv, QuotesWhatNeedsIt) {
  std::string csv = sweep_csv(two_points());
  expect_parts(csv, {"point,optimizer.lr,state,exit,message,metric,best_metric,best,",
                     "\r\n1-lr=0.1,0.1,done,0,,accuracy,accuracy,0.25,0.25,0.5,",
                     "\r\n2-lr=0.2,0.2,failed (4),4,\"no file, \"\"x\"\"\",,"});
}

TEST(SweepPage, HasTheBestFirstAndWhyOthersFailed) {
  std::string html = sweep_html(two_points());
  nlohmann::json data = data_of(html);
  EXPECT_EQ(data["ranking"], nlohmann::json({0, 1}));
  EXPECT_EQ(data["points"][0]["best"], 0.25);
  EXPECT_THAT(html, HasSubstr("The best is 1-lr=0.1, with test accuracy 25.00%."));
  SPIRE_SKIP_WITHOUT_NODE();
  nlohmann::json page = drawn(html);
  EXPECT_EQ(page["figures"], nlohmann::json({"optimizer.lr"}));
  EXPECT_EQ(page["elements"]["tr"], 3);
  EXPECT_EQ(page["cells"][0], "25%");
  EXPECT_THAT(page["text"].get<std::string>(), HasSubstr("0.10.2optimizer.lr"));  // two ticks
  EXPECT_THAT(page["text"].get<std::string>(), HasSubstr("2-lr=0.2: no file, \"x\""));
}

TEST(SweepJson, GivesThePlanBack) {
  SweepReport report = two_points();
  RecordedSweep read = read_sweep_json(sweep_json(report), "sweep.json");
  EXPECT_EQ(read.request.axes, report.request.axes);
  EXPECT_EQ(read.request.overrides, report.request.overrides);
  ASSERT_EQ(read.request.configs.size(), 1u);
  EXPECT_EQ(read.request.configs[0].text, "batch_size: 8\n");
  EXPECT_THAT(read.towers, ElementsAre(1, 1));
  EXPECT_THAT(read.tower_threads, ElementsAre(2, 2));
}

TEST(SweepJson, OfSomethingElseIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"format": "spire bench", "version": 1})",
                           R"({"format": "spire sweep", "version": 2})",
                           R"({"format": "spire sweep", "version": 1, "configs": 3})",
                           R"({"format": "spire sweep", "version": 1, "configs": [],
                               "overrides": [], "axes": [{"key": "seed", "values": ["1"]}],
                               "points": []})"}) {
    EXPECT_THROW(read_sweep_json(text, "sweep.json"), Error) << text;
  }
}

TEST(SweepPoints, SettleTowersByTheConfigAndThreadsByTheSmallestSlot) {
  std::vector<SweepSlot> slots = {SweepSlot{.device = {}, .uuid = "", .cores = {0, 1, 2, 3, 4}},
                                  SweepSlot{.device = {}, .uuid = "", .cores = {5, 6, 7, 8}}};
  SweepRequest request{{}, {"devices=2xcpu"}, {{"seed", {"1", "2"}}}};
  auto points = sweep_points(request, slots);
  EXPECT_EQ(points[0].towers, 2);
  EXPECT_EQ(points[0].tower_threads, 2);
  request.overrides = {"towers=8", "tower_threads=3"};
  points = sweep_points(request, slots);
  EXPECT_EQ(points[1].towers, 8);
  EXPECT_EQ(points[1].tower_threads, 3);
}

TEST(SweepPoints, NeedValuesAndSlots) {
  std::vector<SweepSlot> slots = {SweepSlot{.device = {}, .uuid = "", .cores = {0}}};
  EXPECT_THROW(sweep_points({{}, {}, {{"seed", {}}}}, slots), Error);
  EXPECT_THROW(sweep_points({{}, {}, {{"seed", {"1"}}}}, {}), Error);
}

TEST(SweepPoints, TrainOnTheirSlot) {
  SweepSlot slot{.device = {DeviceKind::cuda, 3}, .uuid = "GPU-3", .cores = {0, 1}};
  auto points = sweep_points({{}, {"towers=4"}, {{"seed", {"1", "2"}}}}, {slot});
  RunConfig config = sweep_config(slot, points[1], "folder").config;
  EXPECT_THAT(config.devices, ElementsAre("cuda:0"));
  EXPECT_EQ(config.output, "folder");
  EXPECT_EQ(config.seed, 2u);
  EXPECT_EQ(config.towers, 4);
  EXPECT_EQ(config.tower_threads, 1);
  auto variables = SweepSlots::variables(slot);
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[0].name + "=" + variables[0].value, "CUDA_VISIBLE_DEVICES=GPU-3");
  EXPECT_THAT(SweepSlots::variables({.device = {}, .uuid = "", .cores = {0}}), testing::IsEmpty());
}

TEST(SweepPoints, ThatAreTheSameRunAreRefused) {
  SweepRequest request{{}, {}, {{"optimizer.lr", {"0.1", "0.10"}}}};
  EXPECT_THROW(sweep_points(request, {SweepSlot{.device = {}, .uuid = "", .cores = {0}}}), Error);
}

TEST(SweepPoints, DifferOnlyByWhatShapesResults) {
  std::vector<SweepSlot> slots = {SweepSlot{.device = {}, .uuid = "", .cores = {0}}};
  std::vector<GridAxis> axes = {{"seed", {"1", "2"}}};
  auto points = [&](std::vector<std::string> words) {
    return sweep_points({{}, std::move(words), axes}, slots);
  };
  EXPECT_THAT(sweep_differences(points({}), points({"log.every_steps=7", "data.workers=1"})),
              testing::IsEmpty());
  EXPECT_THAT(sweep_differences(points({}), points({"batch_size=9"})),
              ElementsAre(HasSubstr("in the folder, 9 now")));
  EXPECT_THAT(sweep_differences(points({}), points({"eval.every_epochs=9"})),
              ElementsAre(HasSubstr("eval.every_epochs: 1 in the folder, 9 now")));
  auto before = points({});
  axes = {{"seed", {"1", "3"}}};
  EXPECT_THAT(sweep_differences(before, points({})),
              ElementsAre("2-seed=2 in the folder, 2-seed=3 now"));
  axes = {{"seed", {"1"}}};
  EXPECT_THAT(sweep_differences(before, points({})), ElementsAre("2 points in the folder, 1 now"));
}

}  // namespace
}  // namespace spire
