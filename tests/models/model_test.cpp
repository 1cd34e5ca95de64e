// Tests names, shapes and counts of the models' parameters against the published architectures.
#include "models/model.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/graph/buffer_assignment.h"
#include "engine/graph/passes.h"
#include "tests/base/message_of.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

using testing::ElementsAre;

const std::vector<Column> test_columns = {{"images", {28, 28, 1}}, {"labels", {}, DType::i32}};

Graph model(ModelConfig config, bool training = true) {
  return build_model(config, {}, {.columns = test_columns, .classes = 10, .batch = 4}, training);
}

std::map<std::string, Shape> shapes_of(const Graph& graph, Role role) {
  std::map<std::string, Shape> shapes;
  for (Value value : graph.values_of(role))
    shapes[graph.tensor(value).name] = graph.spec(value).shape;
  return shapes;
}

int64_t parameter_count(Graph graph) {
  auto gradients = differentiate(graph);
  return ParameterLayout(graph, gradients).parameter_count();
}

TEST(Model, AutoSuitsTheData) {
  std::vector<Column> features = {{"features", {6}}, {"values", {1}, DType::f32}};
  std::vector<Column> tokens = {{"tokens", {6}, DType::i32}, {"targets", {6}, DType::i32}};
  ModelConfig config;
  EXPECT_EQ(config.name, "auto");
  EXPECT_EQ(model_for(config, test_columns), "cnn");
  EXPECT_EQ(model_for(config, features), "mlp");
  EXPECT_EQ(model_for(config, tokens), "gpt");
  EXPECT_EQ(task_of(config, features), Task::regress);
  EXPECT_EQ(task_of(config, tokens), Task::predict_tokens);
  EXPECT_FALSE(makes_images(config));
  EXPECT_EQ(shapes_of(model(config), Role::parameter),
            shapes_of(model({.name = "cnn"}), Role::parameter));
  EXPECT_EQ(model_for({.name = "linear"}, test_columns), "linear");
}

// Refused because the values would be ignored silently.
TEST(Model, ThatMakesImagesIsRefusedWhereTheDataHasValues) {
  std::vector<Column> columns = {{"images", {8, 8, 1}}, {"values", {2}, DType::f32}};
  EXPECT_EQ(task_of({.name = "cnn"}, columns), Task::regress);
  EXPECT_EQ(task_of({.name = "autoencoder"}, columns), Task::reconstruct);
  EXPECT_THAT(message_of(Category::config, [&] { task_of({.name = "unet"}, columns); }),
              testing::HasSubstr("no use for the data's values"));
}

// The target decides how many channels a model of images makes.
TEST(Model, ThatMakesImagesSuitsItsTarget) {
  std::vector<Column> images = {{"images", {8, 8, 3}}, {"target_images", {8, 8, 1}}};
  std::vector<Column> masks = {{"images", {8, 8, 3}}, {"masks", {8, 8}, DType::i32}};
  ModelConfig config;
  EXPECT_EQ(model_for(config, images), "unet");
  EXPECT_EQ(model_for(config, masks), "unet");
  for (const char* name : {"unet", "autoencoder"}) {
    config.name = name;
    EXPECT_EQ(task_of(config, images), Task::reconstruct);
    EXPECT_EQ(task_of(config, masks), Task::segment);
    auto output = [&](const std::vector<Column>& columns) {
      Graph graph = build_model(config, {}, {.columns = columns, .classes = 5, .batch = 2}, true);
      return graph.spec(graph.outputs().at("output")).shape;
    };
    EXPECT_EQ(output(images), Shape({2, 8, 8, 1}));
    EXPECT_EQ(output(masks), Shape({2, 8, 8, 5}));
    EXPECT_EQ(output({images[0]}), Shape({2, 8, 8, 3}));
  }
}

TEST(Model, LossesThatDoNotFitMasksAreRefused) {
  std::vector<Column> masks = {{"images", {8, 8, 3}}, {"masks", {8, 8}, DType::i32}};
  auto message = [&](const ModelConfig& config, LossConfig::Name loss) {
    return message_if_any(Category::config, [&] {
      build_model(config, {.name = loss}, {.columns = masks, .classes = 5, .batch = 2}, true);
    });
  };
  EXPECT_THAT(message({.name = "unet"}, LossConfig::Name::l1),
              testing::HasSubstr("loss.name: l1 does not fit masks; use cross_entropy"));
  EXPECT_EQ(message({.name = "unet"}, LossConfig::Name::cross_entropy), "");
  LossConfig weighted{.class_weights = {1, 2, 3, 4, 5}};
  EXPECT_EQ(message_if_any(Category::config,
                           [&] {
                             build_model({.name = "unet"}, weighted,
                                         {.columns = masks, .classes = 5, .batch = 2}, true);
                           }),
            "loss.class_weights: weighs the classes of samples, not masks; use []");
  ModelConfig layers{.name = "layers"};
  layers.layers =
      parse_config({}, {"model.layers=[conv2d: {channels: 4, kernel: 3, padding: same}]"})
          .config.model.layers;
  EXPECT_THAT(message(layers, LossConfig::Name::automatic),
              testing::HasSubstr("end with a conv2d of as many channels as there are classes"));
}

// A key of the loss that another loss has counts with that loss alone; with auto it is refused.
TEST(Model, KeysOfTheLossCountWhereTheyFit) {
  auto message = [](const std::vector<Column>& columns, const LossConfig& loss) {
    return message_if_any(Category::config, [&] {
      build_model({.name = "mlp"}, loss, {.columns = columns, .classes = 2, .batch = 2}, true);
    });
  };
  std::vector<Column> values = {{"features", {4}}, {"values", {2}, DType::f32}};
  std::vector<Column> classes = {{"features", {4}}, {"labels", {}, DType::i32}};
  EXPECT_EQ(message(values, {.class_weights = {1, 2}}),
            "loss.class_weights: weighs the classes of samples, not values or images; use []");
  EXPECT_EQ(message(values, {.z_loss = 0.1}), "loss.z_loss: does not fit values or images; use 0");
  LossConfig squares{.name = LossConfig::Name::mse, .class_weights = {1, 2}, .z_loss = 0.1};
  EXPECT_EQ(message(values, squares), "");
  EXPECT_EQ(message(classes, squares), "");
  Graph graph =
      build_model({.name = "mlp"}, squares, {.columns = classes, .classes = 2, .batch = 2}, true);
  EXPECT_THAT(op_names(graph), testing::Contains("mse"));
  EXPECT_EQ(message(classes, {.class_weights = {1, 2}, .z_loss = 0.1}), "");
}

TEST(Linear, IsOneDenseLayer) {
  std::map<std::string, Shape> expected = {{"dense.weight", {10, 784}}, {"dense.bias", {10}}};
  EXPECT_EQ(shapes_of(model({.name = "linear"}), Role::parameter), expected);
}

TEST(Cnn, ConvolutionsHaveABiasWithoutNormalization) {
  Graph graph = model({.name = "cnn"});
  std::map<std::string, Shape> expected = {
      {"conv1.weight", {32, 1, 3, 3}},   {"conv1.bias", {32}},    //
      {"conv2.weight", {64, 32, 3, 3}},  {"conv2.bias", {64}},    //
      {"dense1.weight", {128, 64 * 49}}, {"dense1.bias", {128}},  //
      {"dense2.weight", {10, 128}},      {"dense2.bias", {10}}};
  EXPECT_EQ(shapes_of(graph, Role::parameter), expected);
  EXPECT_TRUE(shapes_of(graph, Role::state).empty());
}

TEST(Cnn, BatchNormTakesThePlaceOfEachBias) {
  Graph graph = model({.name = "cnn",
                       .channels = {8, 12},
                       .normalization = ModelConfig::Normalization::batch_norm});
  std::map<std::string, Shape> parameters = {
      {"conv1.weight", {8, 1, 3, 3}},    {"conv1.norm.gamma", {8}},
      {"conv1.norm.beta", {8}},          {"conv2.weight", {12, 8, 3, 3}},
      {"conv2.norm.gamma", {12}},        {"conv2.norm.beta", {12}},
      {"dense1.weight", {128, 12 * 49}}, {"dense1.bias", {128}},
      {"dense2.weight", {10, 128}},      {"dense2.bias", {10}}};
  std::map<std::string, Shape> states = {{"conv1.norm.running_mean", {8}},
                                         {"conv1.norm.running_var", {8}},
                                         {"conv2.norm.running_mean", {12}},
                                         {"conv2.norm.running_var", {12}}};
  EXPECT_EQ(shapes_of(graph, Role::parameter), parameters);
  EXPECT_EQ(shapes_of(graph, Role::state), states);
  EXPECT_EQ(graph.state_updates().size(), 4u);
}

TEST(Cnn, NormalizesBeforeTheRelu) {
  auto training = op_names(model(
      {.name = "cnn", .channels = {8}, .normalization = ModelConfig::Normalization::batch_norm}));
  training.resize(4);
  EXPECT_THAT(training, ElementsAre("conv2d", "batch_norm", "relu", "max_pool2d"));
  auto evaluation = op_names(model(
      {.name = "cnn", .channels = {8}, .normalization = ModelConfig::Normalization::batch_norm},
      false));
  evaluation.resize(4);
  EXPECT_THAT(evaluation, ElementsAre("conv2d", "batch_norm_eval", "relu", "max_pool2d"));
}

TEST(Cnn, TrainingAndEvaluationShareTheirParametersAndStates) {
  using Normalization = ModelConfig::Normalization;
  for (Normalization normalization : {Normalization::none, Normalization::batch_norm}) {
    ModelConfig config = {.name = "cnn", .dropout = 0.5, .normalization = normalization};
    Graph training = model(config), evaluation = model(config, false);
    for (Role role : {Role::parameter, Role::state})
      EXPECT_EQ(shapes_of(training, role), shapes_of(evaluation, role));
    EXPECT_TRUE(evaluation.state_updates().empty());
  }
}

TEST(Models, ParameterCounts) {
  EXPECT_EQ(parameter_count(model({.name = "mlp"})),
            784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10);
  int64_t plain = parameter_count(model({.name = "cnn"}));
  EXPECT_EQ(plain, 9 * 32 + 32 + 9 * 32 * 64 + 64 + 3136 * 128 + 128 + 128 * 10 + 10);
  // A gain and a shift a channel instead of a bias.
  EXPECT_EQ(parameter_count(
                model({.name = "cnn", .normalization = ModelConfig::Normalization::batch_norm})),
            plain + 32 + 64);
}

TEST(Models, MarkTheBlocksThatBackwardMayRecompute) {
  EXPECT_EQ(model({.name = "resnet", .depth = 20}).blocks().size(), 9u);
  EXPECT_EQ(model({.name = "resnet", .depth = 20}).blocks().back(), "stage3.block3");
  EXPECT_THAT(model({.name = "cnn", .hidden = {16}, .channels = {4, 8}}).blocks(),
              ElementsAre("conv1", "conv2", "dense1"));
  EXPECT_TRUE(model({.name = "mlp"}).blocks().empty());
}

// No layout of an arena needs less than the most bytes that are alive at a time.
TEST(Models, ArenaOfAResnetIsAsSmallAsItCanBe) {
  auto [graph, gradients] = differentiated(model({.name = "resnet", .depth = 20}));
  ParameterLayout layout(graph, gradients);
  auto floats = static_cast<size_t>(layout.total_floats());
  BufferAssignment over(graph, gradients, layout, true);
  EXPECT_LE(over.peak_bytes(), over.arena_bytes());
  EXPECT_LE(over.arena_bytes() * 10, over.peak_bytes() * 11);
  BufferAssignment kept(graph, gradients, layout);
  EXPECT_LT(over.arena_bytes(), kept.arena_bytes() + floats * sizeof(float));
  EXPECT_LE(kept.arena_bytes() * 10, kept.peak_bytes() * 11);
  recompute_blocks(graph);
  BufferAssignment anew(graph, gradients, layout);
  EXPECT_LE(anew.arena_bytes() * 10, anew.peak_bytes() * 11);
  EXPECT_LE(anew.arena_bytes() * 2, kept.arena_bytes());
}

// The sum of a block's two gradients is made by the batch norm that reads it. Behind the stem,
// which has no residual, an op makes it.
TEST(Models, ResnetsAddUpGradientsInTheirNorms) {
  auto net = differentiated(model({.name = "resnet", .depth = 20}));
  EXPECT_EQ(std::ranges::count_if(
                net.graph.nodes(),
                [](const Node& node) { return node.backward && node.op->name() == "add"; }),
            1);
}

TEST(Models, ResnetHasItsOwnNormalization) {
  ModelConfig config = {.name = "resnet", .depth = 8};
  auto parameters = shapes_of(model(config), Role::parameter);
  config.normalization = ModelConfig::Normalization::batch_norm;
  EXPECT_EQ(shapes_of(model(config), Role::parameter), parameters);
  EXPECT_TRUE(parameters.contains("stage2.block1.shortcut.norm.gamma"));
}

}  // namespace
}  // namespace spire
