// Runs with validation data and metrics of their own: the same on any devices, after a resumption,
// and by whatever evaluates them.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <spire/dataset.h>

#include "engine/base/read_file.h"
#include "engine/base/thread.h"
#include "tests/base/message_of.h"
#include "tests/process/ranks.h"
#include "tests/run/made_run.h"

namespace spire {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// 48 rows for training, 12 for validation, 60 for testing; an evaluation every third step, of which
// a later one is not always better.
const Words held_out = {"data.val.share=0.2", "steps=15",          "seed=3",
                        "eval.every_steps=3", "optimizer.lr=0.02", "eval.metrics=[r2, mae]"};

// With this seed the row that is far from the others comes later.
const Words few_steps = {"steps=4", "seed=3"};

// All that evaluations give, as one text of exact numbers.
std::string text_of(const RunResult& result, const Reports& numbers) {
  std::string text = result.summary.parameter_hash;
  auto add = [&](const EvalReport& eval) {
    text += fmt::format("\n{} {} {} {}", eval.step, eval.loss, eval.metric.value, eval.best);
    for (const MetricValue& other : eval.others) text += fmt::format(" {}", other.value);
  };
  for (const EvalReport& eval : numbers.evaluations) add(eval);
  for (const EvalReport& eval : numbers.tests) add(eval);
  return text;
}

std::string run_text(const MadeRuns& runs, const std::string& name, const Words& more) {
  Reports numbers;
  RunResult result = runs.train(name, more, numbers);
  return text_of(result, numbers);
}

TEST(ValidationRun, GoesOnAfterAResumption) {
  MadeRuns runs;
  Reports whole, rest;
  RunResult straight = runs.train("whole", held_out, whole);
  runs.train("parts", held_out + Words{"steps=6", "checkpoint.every_steps=3"});
  RunResult resumed = runs.resume("parts", held_out, rest);
  EXPECT_EQ(resumed.summary.parameter_hash, straight.summary.parameter_hash);
  EXPECT_EQ(resumed.summary.val.best, straight.summary.val.best);
  ASSERT_TRUE(resumed.summary.test && straight.summary.test);
  EXPECT_EQ(resumed.summary.test->loss, straight.summary.test->loss);
  EXPECT_EQ(resumed.summary.test->step, straight.summary.test->step);
}

// The same metrics and figures, though it evaluates nothing but the test data.
TEST(ValidationRun, ARunThatHasEndedKeepsItsFiguresWhenItIsResumed) {
  MadeRuns runs;
  Reports first, again;
  RunSummary ended = runs.train("run", held_out, first).summary;
  RunSummary resumed = runs.resume("run", held_out, again).summary;
  EXPECT_TRUE(again.evaluations.empty());
  EXPECT_EQ(ended.val.others.size(), 2u);
  EXPECT_EQ(resumed.val.others, ended.val.others);
  EXPECT_EQ(resumed.val.metric, ended.val.metric);
  EXPECT_EQ(resumed.test->others, ended.test->others);
  EXPECT_EQ(resumed.chain, ended.chain);
  EXPECT_TRUE(std::isnan(resumed.train_loss));  // it has trained nothing
}

// The best weights are there at the end, wherever the other checkpoints lie.
TEST(ValidationRun, TestsTheSameWeightsWhateverCheckpointsItWrites) {
  MadeRuns runs;
  std::string usual = run_text(runs, "usual", held_out);
  for (const Words& checkpoints : {Words{"checkpoint.every_epochs=0"},
                                   Words{"checkpoint.every_epochs=0", "checkpoint.every_steps=4"},
                                   Words{"checkpoint.every_steps=1", "checkpoint.keep_last=1"},
                                   Words{"checkpoint.snapshot=never", "checkpoint.every_steps=7"}})
    EXPECT_EQ(run_text(runs, "other", held_out + checkpoints), usual);
}

TEST(ValidationRun, TestsTheSameWeightsWhereItBranches) {
  MadeRuns runs;
  Reports whole;
  RunSummary straight = runs.train("whole", held_out, whole).summary;
  for (const char* steps : {"steps=6", "steps=9", "steps=12"}) {
    runs.train("trunk", held_out + Words{steps});
    std::filesystem::remove_all(runs / "branch");
    Reports rest;
    RunOptions options;
    options.resume = (runs / "trunk").string();
    RunSummary branch = runs.train("branch", held_out, rest, options).summary;
    EXPECT_EQ(branch.parameter_hash, straight.parameter_hash);
    EXPECT_EQ(branch.test->step, straight.test->step) << steps;
    EXPECT_EQ(branch.test->loss, straight.test->loss) << steps;
  }
}

// What was best by another metric says nothing about this one: the resumed weights are evaluated
// again, and are the first to be compared with.
TEST(ValidationRun, AnotherMetricBeginsAnewAfterAResumption) {
  MadeRuns runs;
  runs.train("run", held_out + Words{"steps=6", "checkpoint.every_steps=3"});
  Reports rest;
  RunResult result = runs.resume("run", held_out + Words{"best.metric=r2"}, rest);
  EXPECT_THAT(rest.warnings, Contains(HasSubstr("evaluations before")));
  ASSERT_FALSE(rest.evaluations.empty());
  EXPECT_EQ(rest.evaluations.front().step, 6);
  EXPECT_TRUE(rest.evaluations.front().best);
  double best = -std::numeric_limits<double>::infinity();
  for (const EvalReport& eval : rest.evaluations) {
    auto r2 = std::ranges::find(eval.others, Metric::r2, &MetricValue::metric);
    ASSERT_NE(r2, eval.others.end());
    best = std::max(best, r2->value);
  }
  EXPECT_EQ(result.summary.val.best, best);
}

TEST(ValidationRun, TheMetricThatAutoFindsIsNoOtherAfterAResumption) {
  MadeRuns runs;
  runs.train("run", held_out + Words{"steps=6", "checkpoint.every_steps=3"});
  Reports rest;
  // The metric of regression, which falls.
  runs.resume("run", held_out + Words{"best.metric=rmse", "best.mode=min"}, rest);
  EXPECT_THAT(rest.warnings, Not(Contains(HasSubstr("evaluations before"))));
}

TEST(ValidationRun, TestsTheBestWeightsOnceAtTheEnd) {
  MadeRuns runs;
  Reports numbers;
  RunResult result = runs.train("run", held_out, numbers);
  EXPECT_EQ(numbers.start.train_samples, 48);
  EXPECT_EQ(numbers.start.val_samples, 12);
  EXPECT_EQ(numbers.start.best_by, "rmse on the validation data");
  ASSERT_EQ(numbers.tests.size(), 1u);
  EXPECT_EQ(numbers.tests[0].samples, 60);
  for (const EvalReport& eval : numbers.evaluations) EXPECT_EQ(eval.samples, 12);
  auto best = std::ranges::find_if(numbers.evaluations.rbegin(), numbers.evaluations.rend(),
                                   [](const EvalReport& eval) { return eval.best; });
  ASSERT_NE(best, numbers.evaluations.rend());
  EXPECT_EQ(numbers.tests[0].step, best->step);

  RunConfig config = parse_config({}, runs.words("run", held_out)).config;
  RunOptions options;
  options.resume = "best";
  Observer silent;
  EvalResult test = evaluate(config, options, silent);
  EXPECT_EQ(test.loss, result.summary.test->loss);
  EXPECT_EQ(test.others, result.summary.test->others);
  options.on_validation = true;
  EXPECT_EQ(evaluate(config, options, silent).loss, best->loss);
}

TEST(ValidationRun, WithoutValidationDataTheTestDataDecides) {
  MadeRuns runs;
  Reports numbers;
  RunResult result = runs.train("run", few_steps, numbers);
  EXPECT_TRUE(numbers.tests.empty());
  EXPECT_FALSE(result.summary.test);
  EXPECT_THAT(numbers.start.best_by,
              HasSubstr("rmse on the test data, so that it is not an unbiased test score"));
  RunOptions options;
  options.on_validation = true;
  Observer silent;
  RunConfig config = parse_config({}, runs.words("run", few_steps)).config;
  EXPECT_THAT(message_of(Category::config, [&] { evaluate(config, options, silent); }),
              HasSubstr("holds out no validation data"));
}

// All rows of the file, normalized as the training rows.
TEST(ValidationRun, ReadsFilesOfTheirOwn) {
  MadeRuns runs;
  std::filesystem::create_directories(runs / "val");
  std::filesystem::copy_file(runs / "table" / "test.csv", runs / "val" / "train.csv");
  std::filesystem::copy_file(runs / "table" / "test.csv", runs / "val" / "test.csv");
  Reports numbers;
  runs.train("run", few_steps + Words{"data.val.path=" + (runs / "val").string()}, numbers);
  EXPECT_EQ(numbers.start.val_samples, 120);
  ASSERT_EQ(numbers.tests.size(), 1u);
  // Each row of the test data is in it twice.
  EXPECT_NEAR(numbers.evaluations.back().loss, numbers.tests[0].loss, 1e-9);
}

const Words of_classes = {"data.name=synthetic",
                          "data.synthetic.kind=features",
                          "data.synthetic.shape=[6]",
                          "data.synthetic.classes=4",
                          "data.synthetic.samples=90",
                          "data.synthetic.test_samples=30",
                          "data.val.share=0.3",
                          "eval.every_steps=4",
                          "steps=12",
                          "eval.metrics=[top3, f1_macro, f1_micro, auc, confusion]",
                          "best.metric=f1_macro"};

Words classes_words(const MadeRuns& runs, const std::string& name, const Words& more) {
  return Words{"model.name=mlp",   "model.hidden=[16]",
               "batch_size=2",     "towers=3",
               "tower_threads=1",  "devices=1xcpu",
               "optimizer.lr=0.1", "output=" + (runs / name).string()} +
         of_classes + more;
}

// Three ranks, which are threads here; each has one of the towers and a third of the samples.
TEST(ValidationRun, IsThatOfOneProcess) {
  MadeRuns runs;
  for (const Words& words :
       {runs.words("run", held_out + Words{"best.metric=mae"}), classes_words(runs, "run", {})}) {
    auto trained = [&](int ranks, const Words& more) {
      auto worlds = threads_world(ranks, {.cores = allowed_cores(), .on_exit_timeout = {}});
      std::vector<Reports> numbers(static_cast<size_t>(ranks));
      std::vector<RunResult> results(numbers.size());
      run_ranks(ranks, [&](int rank) {
        auto r = static_cast<size_t>(rank);
        RunOptions options;
        options.overwrite = true;
        options.world = worlds[r].get();
        results[r] = train(parse_config({}, words + more).config, options, numbers[r]);
      });
      for (const RunResult& result : results) EXPECT_TRUE(result.summary.test);
      return text_of(results[0], numbers[0]);
    };
    std::string one = trained(1, {});
    EXPECT_EQ(trained(3, {}), one);
    EXPECT_EQ(trained(3, {"strategy=sharded"}), one);
    // They bring the state together in a copy, which is no reason to refuse the run.
    for (int ranks : {2, 3})
      EXPECT_EQ(trained(ranks, {"strategy=sharded", "checkpoint.snapshot=never"}), one);
  }
}

TEST(ValidationRun, OfClassesHasTheSameMetricsOnAnyDevices) {
  MadeRuns runs;
  auto text = [&](const std::string& name, const Words& more) {
    Reports numbers;
    RunOptions options;
    options.overwrite = true;
    RunConfig config = parse_config({}, classes_words(runs, name, more)).config;
    RunResult result = train(config, options, numbers);
    double best = result.summary.val.best;
    EXPECT_EQ(result.summary.val.best_by, Metric::f1_macro);
    auto is_best = [&](const EvalReport& eval) { return eval.others[1].value == best; };
    EXPECT_TRUE(std::ranges::any_of(numbers.evaluations, is_best));
    // Of single labels this F1 is the accuracy.
    for (const EvalReport& eval : numbers.evaluations)
      EXPECT_DOUBLE_EQ(eval.others[2].value, eval.metric.value);
    return text_of(result, numbers);
  };
  std::string one = text("one", {});
  EXPECT_EQ(text("two", {"devices=2xcpu"}), one);
  EXPECT_EQ(text("three", {"devices=3xcpu", "strategy=sharded"}), one);
  auto json = nlohmann::json::parse(
      read_file_if_there(runs / "one" / "confusion.json", Category::config).value());
  int64_t sum = 0;
  for (const auto& row : json.at("counts"))
    for (const auto& count : row) sum += count.get<int64_t>();
  EXPECT_EQ(sum, 27);
  EXPECT_TRUE(std::filesystem::exists(runs / "one" / "confusion_test.json"));
}

// Two labels a sample, each there where the sum of two features is positive.
TEST(ValidationRun, FindsSeveralLabelsASample) {
  MadeRuns runs;
  constexpr int64_t count = 96;
  std::vector<float> features, labels;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t f = 0; f < 3; ++f)
      features.push_back(static_cast<float>((i * (7 + 4 * f) + f) % 29) / 14 - 1);
    const float* x = features.data() + 3 * i;
    for (int64_t k = 0; k < 2; ++k) labels.push_back(x[k] + x[k + 1] > 0 ? 1.0f : 0.0f);
  }
  auto trained = [&](const std::string& devices) {
    Words words = {"model.name=linear",
                   "loss.name=binary",
                   "batch_size=4",
                   "towers=2",
                   "tower_threads=1",
                   "optimizer.lr=1",
                   "epochs=30",
                   "data.val.share=0.25",
                   "eval.metrics=[f1_macro, f1_micro, auc]",
                   "devices=" + devices,
                   "output=" + (runs / devices).string()};
    RunOptions options;
    options.data = array_source({array("features", features.data(), {count, 3}),
                                 array("values", labels.data(), {count, 2})});
    return train(parse_config({}, words).config, options).summary;
  };
  RunSummary one = trained("1xcpu"), two = trained("2xcpu");
  EXPECT_EQ(one.val.metric.metric, Metric::exact_match);
  EXPECT_GT(one.val.metric.value, 0.9);
  ASSERT_EQ(one.val.others.size(), 3u);
  for (const MetricValue& other : one.val.others) EXPECT_GT(other.value, 0.95);
  EXPECT_EQ(one.parameter_hash, two.parameter_hash);
  EXPECT_EQ(one.val.others, two.val.others);
}

TEST(ValidationRun, RefusesMetricsThatDoNotFit) {
  MadeRuns runs;
  auto refusal = [&](const Words& more) {
    return message_of(Category::config, [&] { runs.train("run", more); });
  };
  EXPECT_THAT(refusal({"eval.metrics=[auc]"}),
              HasSubstr("eval.metrics: auc does not fit the model and its data; use one of: rmse, "
                        "r2, mae, loss"));
  EXPECT_THAT(refusal({"best.metric=accuracy"}), HasSubstr("best.metric: accuracy does not fit"));
  EXPECT_THAT(refusal({"eval.metrics=[confusion]"}), HasSubstr("confusion counts classes"));
  EXPECT_THAT(refusal({"data.val.share=0.1", "data.val.path=x"}),
              HasSubstr("data.val.path names validation data already"));
}

TEST(ValidationRun, RefusesFilesWithOtherColumns) {
  MadeRuns runs;
  std::filesystem::create_directories(runs / "val");
  for (const char* name : {"train.csv", "test.csv"})
    std::ofstream(runs / "val" / name) << "a,b,y\n1,2,0.5\n2,3,0.25\n";
  EXPECT_THAT(message_of(Category::data,
                         [&] { runs.train("run", {"data.val.path=" + (runs / "val").string()}); }),
              HasSubstr("its columns are not those of the training data"));
}

TEST(ValidationRun, RefusesLossesThatDoNotFit) {
  MadeRuns runs;
  auto refusal = [&](const Words& more) {
    return message_of(Category::config, [&] {
      train(parse_config({}, classes_words(runs, "run", Words{"best.metric=auto"} + more)).config);
    });
  };
  EXPECT_THAT(refusal({"loss.class_weights=[1, 2]"}), HasSubstr("got 2 numbers for 4 classes"));
  EXPECT_THAT(refusal({"loss.name=huber"}), HasSubstr("huber does not fit classes; use"));
  EXPECT_THAT(message_of(Category::config, [&] { runs.train("run", {"loss.name=focal"}); }),
              HasSubstr("focal needs classes; use mse, l1, l1_l2 or huber"));
}

TEST(ValidationRun, MayTakeTheLowestAsTheBest) {
  MadeRuns runs;
  Reports numbers;
  runs.train("run", held_out + Words{"best.metric=r2", "best.mode=min"}, numbers);
  double lowest = numbers.evaluations[0].others[0].value;
  for (const EvalReport& eval : numbers.evaluations) {
    double value = eval.others[0].value;
    EXPECT_EQ(eval.best, &eval == numbers.evaluations.data() || value < lowest);
    lowest = std::min(lowest, value);
  }
}

}  // namespace
}  // namespace spire
