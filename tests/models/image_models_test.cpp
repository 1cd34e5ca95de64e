// Checks models for images against their published parameters, multiply-adds and shapes.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include <spire/layers.h>

#include "engine/base/fail.h"
#include "engine/config/words.h"
#include "engine/graph/graph.h"
#include "engine/graph/parameter_layout.h"
#include "models/model.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

struct ImageShape {
  int64_t height, width, channels, classes;
};

Graph model(const ModelConfig& config, const ImageShape& image, bool training = true) {
  std::vector<Column> columns = {{"images", {image.height, image.width, image.channels}},
                                 {"labels", {}, DType::i32}};
  return build_model(config, {}, {.columns = columns, .classes = image.classes}, training);
}

constexpr ImageShape image_net = {224, 224, 3, 1000};
constexpr ImageShape test_cifar = {32, 32, 3, 10};

LayerRow figures(const ModelConfig& config, const ImageShape& image) {
  return total_of(layer_table(model(config, image)));
}

struct Published {
  std::string name;
  ModelConfig model;
  int64_t parameters;
  double giga_multiply_adds;  // three decimals
};

class PublishedFigures : public testing::TestWithParam<Published> {};

// Figures of torchvision, at 224x224x3 and 1000 classes.
TEST_P(PublishedFigures, OfParametersAndMultiplyAdds) {
  LayerRow total = figures(GetParam().model, image_net);
  EXPECT_EQ(total.parameters, GetParam().parameters);
  double giga = std::round(static_cast<double>(total.multiply_adds) / 1e6) / 1e3;
  EXPECT_DOUBLE_EQ(giga, GetParam().giga_multiply_adds);
}

ModelConfig imagenet_resnet(int64_t depth) {
  return {.name = "resnet", .depth = depth, .variant = ModelConfig::Variant::imagenet};
}
using Normalization = ModelConfig::Normalization;
ModelConfig vgg(int64_t depth, Normalization normalization = Normalization::none) {
  return {.name = "vgg", .depth = depth, .normalization = normalization};
}

INSTANTIATE_TEST_SUITE_P(
    ImageNet, PublishedFigures,
    testing::Values(Published{"resnet18", imagenet_resnet(18), 11689512, 1.814},
                    Published{"resnet34", imagenet_resnet(34), 21797672, 3.664},
                    Published{"resnet50", imagenet_resnet(50), 25557032, 4.089},
                    Published{"resnet101", imagenet_resnet(101), 44549160, 7.801},
                    Published{"vgg11", vgg(11), 132863336, 7.609},
                    Published{"vgg13", vgg(13), 133047848, 11.308},
                    Published{"vgg16", vgg(16), 138357544, 15.470},
                    Published{"vgg16_norm", vgg(16, Normalization::batch_norm), 138365992, 15.470},
                    Published{"vgg19", vgg(19), 143667240, 19.632}),
    [](const auto& test) { return test.param.name; });

// He et al. 2015, table 6: 0.27, 0.46, 0.66, 0.85 and 1.7 million.
TEST(CifarResnet, IdentityShortcutsHaveThePapersParameters) {
  std::pair<int64_t, int64_t> published[] = {
      {20, 269722}, {32, 464154}, {44, 658586}, {56, 853018}, {110, 1727962}};
  for (auto [depth, parameters] : published) {
    ModelConfig config = {
        .name = "resnet", .depth = depth, .shortcut = ModelConfig::Shortcut::identity};
    EXPECT_EQ(figures(config, test_cifar).parameters, parameters) << depth;
  }
  ModelConfig resnet20 = {.name = "resnet", .shortcut = ModelConfig::Shortcut::identity};
  EXPECT_EQ(figures(resnet20, test_cifar).multiply_adds, 40551040);
}

// There are two 1x1 convolutions more, each with gamma and beta of a batch norm.
TEST(CifarResnet, ProjectionsAddTheirConvolutions) {
  int64_t projections = 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64;
  EXPECT_EQ(figures({.name = "resnet"}, test_cifar).parameters, 269722 + projections);
}

// Returns the initial values of parameter `name`.
std::vector<float> initial(const Graph& graph, const std::string& name) {
  for (Value value : graph.values_of(Role::parameter)) {
    const Tensor& tensor = graph.tensor(value);
    if (tensor.name != name) continue;
    std::vector<float> values(static_cast<size_t>(tensor.spec.shape.elements()));
    tensor.initialize(RandomStream(5, Purpose::initialize), 0, values);
    return values;
  }
  fail(Category::unexpected, "no parameter {}", name);
}

double deviation(const std::vector<float>& values) {
  double squares = 0;
  for (float value : values) squares += double{value} * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(ImagenetResnet, BlocksBeginAsTheirShortcuts) {
  Graph graph = model(imagenet_resnet(50), image_net);
  EXPECT_EQ(initial(graph, "stage2.block1.c.norm.gamma"), std::vector<float>(512, 0.0f));
  EXPECT_EQ(initial(graph, "stage2.block1.b.norm.gamma"), std::vector<float>(128, 1.0f));
  EXPECT_EQ(initial(graph, "stage2.block1.shortcut.norm.gamma"), std::vector<float>(512, 1.0f));
  Graph basic = model(imagenet_resnet(18), image_net);
  EXPECT_EQ(initial(basic, "stage1.block1.b.norm.gamma"), std::vector<float>(64, 0.0f));
  Graph cifar = model({.name = "resnet"}, test_cifar);
  EXPECT_EQ(initial(cifar, "stage1.block1.b.norm.gamma"), std::vector<float>(16, 1.0f));
}

TEST(ImagenetResnet, WeightsAreNormalAsInThePapers) {
  Graph graph = model(imagenet_resnet(50), image_net);
  // 2 million and 147 thousand draws: their deviation is known to 5 of its own standard errors.
  EXPECT_NEAR(deviation(initial(graph, "head.weight")), 0.01, 0.01 * 5 / std::sqrt(2 * 2048000.0));
  double want = std::sqrt(2.0 / (128 * 9));
  EXPECT_NEAR(deviation(initial(graph, "stage2.block1.b.conv.weight")), want,
              want * 5 / std::sqrt(2 * 147456.0));
}

// v1.5: the bottleneck's 3x3 convolution halves the image, not its first 1x1 one.
TEST(ImagenetResnet, TheStrideLiesInTheThreeByThree) {
  std::map<std::string, Shape> shapes;
  for (const LayerRow& row : layer_table(model(imagenet_resnet(50), image_net)))
    shapes[row.name] = Shape(row.output_shape);
  EXPECT_EQ(shapes["stem.conv"], (Shape{1, 112, 112, 64}));
  EXPECT_EQ(shapes["stage2.block1.a.conv"], (Shape{1, 56, 56, 128}));
  EXPECT_EQ(shapes["stage2.block1.b.conv"], (Shape{1, 28, 28, 128}));
  EXPECT_EQ(shapes["stage4.block3.c.conv"], (Shape{1, 7, 7, 2048}));
}

TEST(Resnet, UnknownDepthsAreRefused) {
  EXPECT_THROW(model(imagenet_resnet(20), image_net), Error);
  EXPECT_THROW(model({.name = "resnet", .depth = 18}, test_cifar), Error);
  EXPECT_THROW(model(vgg(20), test_cifar), Error);
}

TEST(Lenet, HasThePapersParametersFor32And28Pixels) {
  for (int64_t side : {28, 32}) {
    Graph graph = model({.name = "lenet"}, {side, side, 1, 10});
    EXPECT_EQ(total_of(layer_table(graph)).parameters, 61706) << side;
  }
  // conv1 117 600, conv2 240 000, conv3 48 000, dense 10 080 and 840.
  EXPECT_EQ(figures({.name = "lenet"}, {32, 32, 1, 10}).multiply_adds, 416520);
}

TEST(Lenet, WeightsAreUniformOverTheFanIn) {
  auto weights = initial(model({.name = "lenet"}, test_cifar), "conv1.weight");  // fan-in 75
  float largest = 0;
  for (float weight : weights) largest = std::max(largest, std::abs(weight));
  EXPECT_LE(largest, 2.4f / 75);
  EXPECT_GT(largest, 0.9f * 2.4f / 75);
}

TEST(Vgg, SmallImagesHaveOneDenseLayer) {
  int64_t convolutions = 14714688;  // of VGG-16
  EXPECT_EQ(figures(vgg(16), test_cifar).parameters, convolutions + 512 * 10 + 10);
  EXPECT_EQ(figures(vgg(16), {28, 28, 1, 10}).parameters,
            convolutions - 2 * 9 * 64 + 512 * 10 + 10);
}

TEST(Vgg, DropsOutBetweenTheLargeHeads) {
  ModelConfig config = vgg(11);
  config.dropout = 0.5;
  EXPECT_EQ(op_count(model(config, image_net), "dropout"), 2);
  EXPECT_EQ(op_count(model(config, image_net, false), "dropout"), 0);
}

// Tests models that make images: shapes, counts, and gradients of every weight.

using Build = Value (*)(Graph&, Value, const ModelConfig&, int64_t);

struct MadeNet {
  Graph graph{true};
  Value images, result;
};

// channels: of the result; 0: those of the images.
MadeNet made(Build build, const ModelConfig& config, Shape images, int64_t channels = 0) {
  MadeNet m;
  m.images = m.graph.input("images", {images, DType::f32});
  m.result = build(m.graph, m.images, config, channels == 0 ? images.back() : channels);
  return m;
}

TEST(ImageToImage, ResultsHaveTheImagesShapeWhateverItsSize) {
  for (Build build : {&autoencoder, &unet}) {
    for (const char* upsample : {"conv_transpose", "resize"}) {
      for (Shape shape : {Shape{2, 28, 28, 1}, {1, 32, 32, 3}, {1, 21, 38, 3}, {3, 9, 8, 2}}) {
        MadeNet m = made(build, {.upsample = *find_word<ModelConfig::Upsample>(upsample)}, shape);
        EXPECT_EQ(m.graph.spec(m.result).shape, shape) << upsample;
        MadeNet classes = made(build, {}, shape, 7);
        EXPECT_EQ(classes.graph.spec(classes.result).shape,
                  Shape({shape[0], shape[1], shape[2], 7}));
      }
    }
  }
}

TEST(ImageToImage, OutputActivationIsTheLastOp) {
  for (Build build : {&autoencoder, &unet}) {
    MadeNet linear = made(build, {}, {1, 16, 16, 1});
    EXPECT_EQ(linear.graph.nodes().back().op->name(), "conv2d");
    MadeNet bounded =
        made(build, {.output_activation = ModelConfig::OutputActivation::sigmoid}, {1, 16, 16, 1});
    EXPECT_EQ(bounded.graph.nodes().back().op->name(), "sigmoid");
  }
}

// 28 -> 14 -> 7 pixels, and back.
TEST(Autoencoder, ParametersByHand) {
  ModelConfig config = {.channels = {8, 4}};
  int64_t down = (9 * 8 + 8) + (9 * 8 * 4 + 4), up = (9 * 4 * 8 + 8) + (9 * 8 * 8 + 8);
  int64_t pixels = 9 * 8 + 1;
  auto rows = layer_table(made(autoencoder, config, {1, 28, 28, 1}).graph);
  EXPECT_EQ(total_of(rows).parameters, down + up + pixels);
  // conv 14x14x8x9, 7x7x4x72; transposed 7x7x4x72, 14x14x8x72; pixels 28x28x72.
  EXPECT_EQ(total_of(rows).multiply_adds, 14112 + 14112 + 14112 + 112896 + 56448);

  config.hidden = {64, 16};
  int64_t flat = 7 * 7 * 4;
  int64_t dense = (flat * 64 + 64) + (64 * 16 + 16) + (16 * 64 + 64) + (64 * flat + flat);
  auto with_code = layer_table(made(autoencoder, config, {1, 28, 28, 1}).graph);
  EXPECT_EQ(total_of(with_code).parameters, down + up + pixels + dense);
}

TEST(Unet, ConcatenatesTheTensorsOfTheWayDown) {
  auto rows = layer_table(made(unet, {.channels = {4, 8}}, {1, 12, 10, 3}).graph);
  int64_t down = (27 * 4 + 4) + (36 * 4 + 4) + (36 * 8 + 8) + (72 * 8 + 8);
  int64_t up = (8 * 4 * 4 + 4) + (72 * 4 + 4) + (36 * 4 + 4), pixels = 4 * 3 + 3;
  EXPECT_EQ(total_of(rows).parameters, down + up + pixels);
  for (const LayerRow& row : rows) {
    if (row.op == "concat") {
      EXPECT_EQ(Shape(row.output_shape), (Shape{1, 12, 10, 8}));
    }
  }
}

// The loss of a result against the images themselves, and "score", its squared error.
Graph reconstruction(Build build, const ModelConfig& config, Regression kind) {
  MadeNet m = made(build, config, {2, 12, 12, 1});
  m.graph.input("labels", {{2}, DType::i32});
  reconstruction_loss(m.graph, m.result, m.images, kind);
  return std::move(m.graph);
}

std::vector<float> test_images() {
  std::vector<float> pixels(2 * 144);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = 0.5f + 0.5f * std::sin(0.37f * static_cast<float>(i));
  return pixels;
}

TEST(ImageToImage, GradientsReachEveryWeight) {
  for (Build build : {&autoencoder, &unet}) {
    for (const char* upsample : {"conv_transpose", "resize"}) {
      for (const char* normalization : {"none", "batch_norm"}) {
        ModelConfig config = {
            .hidden = {12},
            .channels = {6, 5},
            .normalization = *find_word<ModelConfig::Normalization>(normalization),
            .upsample = *find_word<ModelConfig::Upsample>(upsample),
            .output_activation = ModelConfig::OutputActivation::sigmoid};
        Graph graph = reconstruction(build, config, Regression::l1_l2);
        GraphRun run = run_graph(std::move(graph), test_images(), {0, 0});
        EXPECT_GT(run.loss, 0);
        for (const auto& [name, gradient] : run.gradients) {
          double squares = 0;
          for (float g : gradient) squares += double{g} * g;
          EXPECT_GT(squares, 0) << name << " " << upsample << " " << normalization;
          EXPECT_TRUE(std::isfinite(squares)) << name;
        }
      }
    }
  }
}

TEST(ImageToImage, GradientsAreSlopesOfTheLoss) {
  ModelConfig config = {.channels = {6, 5},
                        .output_activation = ModelConfig::OutputActivation::sigmoid};
  for (Build build : {&autoencoder, &unet}) {
    auto images = test_images();
    const std::string name = "pixels.bias";
    auto run_at = [&](float bias) {
      Graph graph = reconstruction(build, config, Regression::mse);
      auto fill = [&](const ParameterEntry& entry, std::span<float> values) {
        entry.initialize(RandomStream(7, Purpose::initialize, values.size()), 0, values);
        if (entry.name == name) values[0] = bias;
      };
      return run_graph(std::move(graph), images, {0, 0}, {.fill = fill});
    };
    double step = 1e-2, change = run_at(0.01f).loss - run_at(-0.01f).loss;
    double slope = change / (2 * step) / 2;  // of the mean over two samples
    EXPECT_NEAR(run_at(0).gradients.at(name)[0], slope, 1e-3 * std::abs(slope));
  }
}

}  // namespace
}  // namespace spire
