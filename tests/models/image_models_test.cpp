// Checks models for images against their published parameters, multiply-adds and shapes.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/graph/graph.h"
#include "engine/graph/parameter_layout.h"
#include "models/model.h"

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
  int drops = 0;
  Graph graph = model(config, image_net), evaluation = model(config, image_net, false);
  for (const Node& node : graph.nodes()) drops += node.op->name() == "dropout";
  EXPECT_EQ(drops, 2);
  for (const Node& node : evaluation.nodes()) EXPECT_NE(node.op->name(), "dropout");
}

}  // namespace
}  // namespace spire
