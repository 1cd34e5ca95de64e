// Outputs on the threads of the program: the numbers of Trainer::predict(), while a model trains.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "engine/data/images/png.h"
#include "tests/run/api/point_data.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

RunConfig small_mlp(const std::string& precision = "fp32") {
  RunConfig config = point_config();
  config.model = {.name = "mlp", .hidden = {16}};
  if (precision == "bf16") config.precision = RunConfig::Precision::bf16;
  return config;
}

std::vector<float> outputs_of(const InferenceSession& session, const PointData& data) {
  std::vector<float> out(static_cast<size_t>(data.count));
  session.predict(data.features.data(), data.count, out);
  return out;
}

TEST(Inference, HasTheOutputsOfTheTrainer) {
  PointData data(40);
  for (const char* precision : {"fp32", "bf16"}) {
    RunConfig config = small_mlp(precision);
    config.ema.decay = 0.5;  // outputs are those of the averages
    Trainer trainer(config, data.source());
    trainer.fit({.steps = 3});
    InferenceSession session(trainer, {.rows = trainer.config().batch_size});
    EXPECT_EQ(session.output_shape(), Shape({1}));
    EXPECT_EQ(outputs_of(session, data), trainer.predict(data.features.data(), 40)) << precision;
  }
}

TEST(Inference, AnyNumberOfRowsHasTheSameOutputs) {
  PointData data(40);
  Trainer trainer(small_mlp(), data.source());
  for (int64_t at_once : {1, 7, 64}) {
    InferenceSession session(trainer, {.rows = at_once});
    std::vector<float> all = outputs_of(session, data);
    for (int64_t count = 1; count <= 40; ++count) {
      std::vector<float> out(static_cast<size_t>(count));
      session.predict(data.features.data(), count, out);
      for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], all[i], 1e-6) << at_once;
    }
  }
}

TEST(Inference, TakesNewWeightsWhenItIsToldTo) {
  PointData data(40);
  Trainer trainer(small_mlp(), data.source());
  InferenceSession session(trainer, {.rows = 4});
  std::vector<float> before = outputs_of(session, data);
  for (int round = 0; round < 3; ++round) {
    trainer.fit({.steps = 2});
    EXPECT_EQ(outputs_of(session, data), before);
    session.update(trainer);
    before = trainer.predict(data.features.data(), 40);
    EXPECT_EQ(outputs_of(session, data), before);
  }
}

TEST(Inference, ThreadsPredictWhileTheModelTrains) {
  PointData data(40);
  Trainer trainer(small_mlp(), data.source());
  InferenceSession session(trainer, {.rows = 4});
  // Every output is that of one state of the weights, whole.
  std::vector<std::vector<float>> states = {outputs_of(session, data)};
  std::atomic<bool> ends{false};
  std::vector<std::vector<std::vector<float>>> seen(3);
  std::vector<std::jthread> threads;
  for (auto& mine : seen)
    threads.emplace_back([&] {
      do mine.push_back(outputs_of(session, data));
      while (!ends.load());
    });
  for (int step = 0; step < 30; ++step) {
    trainer.step(data.rows(0, 8));
    session.update(trainer);
    states.push_back(trainer.predict(data.features.data(), 40));
  }
  ends = true;
  threads.clear();
  for (const auto& mine : seen)
    for (const auto& outputs : mine) EXPECT_THAT(states, testing::Contains(outputs));
}

// y = x . w + 10 z, of two columns that are no column of Spire's.
std::shared_ptr<Model> two_inputs() {
  auto model = std::make_shared<Model>();
  model->name = "two";
  model->layers = [](Graph& graph, const ModelInputs& inputs) {
    return add(graph, dense(graph, "dense", inputs["features"], 1),
               dense(graph, "extra", inputs["extra"], 1));
  };
  return model;
}

TEST(Inference, ReadsSeveralColumnsOfAModelOfTheProgramAlsoFromAFile) {
  PointData data(8);
  SampleSpec spec = data.spec();
  spec.columns.insert(spec.columns.begin() + 1, {"extra", {2}, DType::f32});
  std::vector<float> extra(16);
  for (size_t i = 0; i < extra.size(); ++i) extra[i] = static_cast<float>(i) / 16;
  Trainer trainer(point_config(), spec, {.model = two_inputs(), .predict_rows = 0});
  trainer.step({{data.features.data(), extra.data(), data.values.data()}, 8});
  InferenceSession session(trainer, {.rows = 4});
  ASSERT_EQ(session.columns(), 2);
  std::vector<ColumnRows> columns = {data.features.data(), extra.data()};
  std::vector<float> out(8), w(3), v(2), b(1), c(1);
  session.predict(columns, 8, out);
  trainer.read_weight("dense.weight", w);
  trainer.read_weight("extra.weight", v);
  trainer.read_weight("dense.bias", b);
  trainer.read_weight("extra.bias", c);
  for (size_t i = 0; i < 8; ++i) {
    double want = b[0] + c[0];
    for (size_t f = 0; f < 3; ++f) want += w[f] * data.features[3 * i + f];
    for (size_t f = 0; f < 2; ++f) want += v[f] * extra[2 * i + f];
    EXPECT_NEAR(out[i], want, 1e-5);
  }

  Folder folder;
  trainer.save(folder / "two.h5");
  InferenceSession saved(
      find_checkpoint((folder / "two.h5").string(), {}, CheckpointChoice::newest, {}), {.rows = 4},
      two_inputs());
  std::vector<float> again(8);
  saved.predict(columns, 8, again);
  EXPECT_EQ(again, out);
  expect_error(Category::config, "1 column given, but outputs are computed from 2",
               [&] { saved.predict(data.features.data(), 8, again); });
}

// Evaluations read images of another size than training does, and so do predict() and sessions.
TEST(Inference, ReadsImagesOfTheSizeOfEvaluations) {
  Folder folder;
  for (const char* part : {"train", "test"})
    for (int i = 0; i < 8; ++i) {
      auto of_class = folder / part / fmt::format("class{}", i % 2);
      fs::create_directories(of_class);
      std::vector<uint8_t> pixels(12 * 12 * 3, static_cast<uint8_t>(20 * i));
      write_png(of_class / fmt::format("{}.png", i), {12, 12, 3, pixels});
    }
  RunConfig config = point_config();
  config.model = {.name = "resnet", .depth = 8};
  config.data = parse_config({}, {"data.name=image_folder", "data.path=" + (folder / "").string(),
                                  "data.image.size=8", "data.image.eval_size=12"})
                    .config.data;
  Trainer trainer(config);
  InferenceSession session(trainer, {.rows = 4});
  EXPECT_EQ(session.data().columns[0].shape, Shape({12, 12, 3}));
  std::vector<float> images(4 * 12 * 12 * 3, 0.5f), out(4 * 2);
  session.predict(images.data(), 4, out);
  EXPECT_EQ(out, trainer.predict(images.data(), 4));
}

// A language model's output has a row of logits for each position.
TEST(Inference, HasALogitForEachTokenOfEachPosition) {
  RunConfig config = point_config();
  config.model = {.name = "gpt", .blocks = 1, .width = 16, .heads = 2};
  config.data.name = "synthetic";
  config.data.synthetic.kind = SyntheticConfig::Kind::tokens;
  config.data.synthetic.shape = {12};
  config.data.synthetic.classes = 11;
  config.data.synthetic.samples = 32;
  Trainer trainer(config);
  InferenceSession session(trainer, {.rows = 1});
  EXPECT_EQ(session.output_shape(), Shape({12, 11}));
  std::vector<int32_t> tokens(24, 3);
  std::vector<float> out(24 * 11);
  session.predict(tokens.data(), 2, out);
  EXPECT_EQ(out, trainer.predict(tokens.data(), 2));
  tokens[5] = 11;
  expect_error(Category::data, "sample 0: column 'tokens' has 11",
               [&] { session.predict(tokens.data(), 2, out); });
}

TEST(Inference, RefusesWhatDoesNotFit) {
  PointData data(8);
  Trainer trainer(small_mlp(), data.source()), other(point_config(), data.source());
  InferenceSession session(trainer);
  std::vector<float> out(8);
  expect_error(Category::config, "InferenceOptions::rows: 0 is less than 1",
               [&] { InferenceSession(trainer, {.rows = 0}); });
  expect_error(Category::config, "room for 8 numbers; 7 rows have 1 each",
               [&] { session.predict(data.features.data(), 7, out); });
  expect_error(Category::config, "column 'features': the shape of its array is (8, 1)", [&] {
    session.predict(array("features", data.values.data(), {8, 1}), 8, out);
  });
  session.predict(std::vector<ColumnRows>{out.data()}, 0, {});  // nothing to do
  expect_error(Category::config, "weights have other names or shapes",
               [&] { session.update(other); });
}

}  // namespace
}  // namespace spire
