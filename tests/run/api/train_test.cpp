// train() on data and models of the calling program.
#include <limits>

#include <gmock/gmock.h>

#include "engine/base/fail.h"
#include "tests/run/api/point_data.h"
#include "tests/run/recorder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

class TrainOnOwnData : public testing::Test {
 protected:
  RunConfig config() const {
    RunConfig config = point_config();
    config.output = output_;
    return config;
  }

  Folder folder_;
  std::string output_ = folder_ / "run";
};

TEST_F(TrainOnOwnData, SaysWhoseItIs) {
  PointData data(24);
  Recorder heard;
  RunResult result = train(config(), {.data = data.source()}, heard);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(heard.start.dataset, "data of the program");
  EXPECT_EQ(heard.start.train_samples, 24);
  EXPECT_THAT(heard.warnings,
              testing::Contains(testing::HasSubstr("evaluations read the training data")));
}

// Its training was fine; what it would answer is not.
TEST_F(TrainOnOwnData, ThatEndsWithNaNHasDiverged) {
  PointData good(24), bad(24);
  bad.features[10] = std::numeric_limits<float>::quiet_NaN();
  DataSource source = array_source(good.arrays(), bad.arrays());
  expect_error(Category::diverged,
               "step 6: the run has ended, but the loss of its last evaluation is nan",
               [&] { train(config(), {.data = source}); });
  EXPECT_TRUE(fs::exists(fs::path(output_) / "checkpoints"));  // its state can be looked at
}

TEST_F(TrainOnOwnData, ResumesWithTheSameBits) {
  PointData data(40);
  RunConfig half = config(), whole = config();
  half.steps = 5, whole.steps = 10;
  train(half, {.data = data.source()});
  std::string resumed =
      train(whole, {.resume = "latest", .data = data.source()}).summary.parameter_hash;
  whole.output = folder_ / "whole";
  EXPECT_EQ(train(whole, {.data = data.source()}).summary.parameter_hash, resumed);
}

TEST_F(TrainOnOwnData, ResumesAModelOfTheProgram) {
  PointData data(40);
  auto model = std::make_shared<Model>();
  model->name = "mine";
  model->layers = [](Graph& graph, const ModelInputs& inputs) {
    return dense(graph, "last", gelu(graph, dense(graph, "first", inputs.first(), 8)), 1);
  };
  RunConfig half = config(), whole = config();
  half.steps = 5, whole.steps = 10;
  train(half, {.data = data.source(), .model = model});
  RunOptions resumes{.resume = "latest", .data = data.source(), .model = model};
  std::string resumed = train(whole, resumes).summary.parameter_hash;
  Trainer trainer(whole, data.source(), {.model = model});
  trainer.fit();
  EXPECT_EQ(fmt::format("{:016x}", trainer.parameter_hash()), resumed);
}

TEST_F(TrainOnOwnData, AFunctionMakesSamples) {
  PointData data(24);
  auto read = [&](int64_t sample, int64_t, const std::vector<std::byte*>& rows) {
    auto i = static_cast<size_t>(sample);
    std::copy_n(data.features.data() + 3 * i, 3, reinterpret_cast<float*>(rows[0]));
    *reinterpret_cast<float*>(rows[1]) = data.values[i];
  };
  DataSource source = [&](const ReadOptions&) {
    DatasetPair pair;
    pair.train = function_dataset(data.spec(), 24, read);
    pair.test = function_dataset(data.spec(), 24, read);
    return pair;
  };
  std::string made = train(config(), {.data = source}).summary.parameter_hash;
  RunOptions again{.overwrite = true, .data = data.source()};
  EXPECT_EQ(train(config(), again).summary.parameter_hash, made);
}

TEST_F(TrainOnOwnData, RefusesDataThatIsNotWhole) {
  PointData data(24);
  auto train_on = [&](const DataSource& source) {
    return [this, source] { train(config(), {.data = source}); };
  };
  expect_error(Category::data, "it returned no training data",
               train_on([](const ReadOptions&) { return DatasetPair(); }));
  expect_error(Category::data, "it returned no test data", train_on([&](const ReadOptions&) {
                 DatasetPair pair;
                 pair.train = array_dataset(data.arrays());
                 return pair;
               }));
  expect_error(Category::data, "differ in name, shape or dtype", train_on([&](const ReadOptions&) {
                 DatasetPair pair = data.source()({});
                 pair.test = array_dataset({data.arrays()[0]});
                 return pair;
               }));
  auto fails = [](int64_t, int64_t, const std::vector<std::byte*>&) {
    fail(Category::data, "row 7 is not there");
  };
  expect_error(Category::data, "row 7 is not there", train_on([&](const ReadOptions&) {
                 DatasetPair pair = data.source()({});
                 pair.train = function_dataset(data.spec(), 24, fails);
                 return pair;
               }));
  EXPECT_FALSE(fs::exists(fs::path(output_) / "summary.json"));
}

}  // namespace
}  // namespace spire
