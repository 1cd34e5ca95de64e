// Tests models that the config lists layer by layer: outputs of the layers, equality with the model
// that a list spells out, and errors with the place of a layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/config/layer_types.h"
#include "models/model.h"
#include "tests/base/message_of.h"
#include "tests/graph/run_graph.h"
#include "tests/models/forward.h"

namespace spire {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

ModelConfig layers(const std::string& list) {
  return parse_config({{"run.yaml", "model: {layers: [" + list + "]}"}}, {}).config.model;
}

ModelInput image_input(Shape image, int64_t batch = 2) {
  return {
      .columns = {{"images", image}, {"labels", {}, DType::i32}}, .classes = 10, .batch = batch};
}

Graph build(const ModelConfig& config, const ModelInput& input, bool training = true) {
  return build_model(config, {}, input, training);
}

Shape output_shape(const std::string& list, const ModelInput& input) {
  Graph graph = build(layers(list), input);
  return graph.spec(graph.outputs().at("output")).shape;
}

std::string refusal(const std::string& list, const ModelInput& input) {
  return message_if_any(Category::config, [&] { build(layers(list), input); });
}

std::vector<Shape> parameter_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (Value value : graph.values_of(Role::parameter)) shapes.push_back(graph.spec(value).shape);
  return shapes;
}

std::vector<std::string> parameter_names(const Graph& graph) {
  std::vector<std::string> names;
  for (Value value : graph.values_of(Role::parameter)) names.push_back(graph.tensor(value).name);
  return names;
}

const std::string test_cnn =
    "{conv2d: {channels: 32, padding: same}}, relu, max_pool2d,"
    "{conv2d: {channels: 64, padding: 1}}, relu, max_pool2d, flatten,"
    "{dense: {units: 128}}, relu, {dense: {units: classes, init: linear_uniform}}";

std::string resnet_layers() {
  auto conv = [](int channels, int kernel, int stride) {
    return fmt::format(
        "{{conv2d: {{channels: {}, kernel: {}, stride: {}, padding: same, bias: false, init: "
        "kaiming_normal}}}}, batch_norm",
        channels, kernel, stride);
  };
  std::string list = conv(16, 3, 1) + ", relu";
  for (int stage = 0; stage < 3; ++stage) {
    int channels = 16 << stage;
    std::string block = "{{residual: {{layers: [{}, relu, {}]}}}}, relu";
    if (stage > 0) {
      list += ", " + fmt::format(fmt::runtime(block), conv(channels, 3, 2), conv(channels, 3, 1));
    }
    list +=
        fmt::format(", {{repeat: {{times: {}, layers: [{}]}}}}", stage > 0 ? 2 : 3,
                    fmt::format(fmt::runtime(block), conv(channels, 3, 1), conv(channels, 3, 1)));
  }
  return list + ", global_avg_pool, {dense: {units: classes}}";
}

// The same operations in the same order, with the same weights: the same bits.
void expect_same_model(const ModelConfig& listed, const ModelConfig& built_in) {
  ModelInput input = image_input({28, 28, 1});
  Graph a = build(listed, input), b = build(built_in, input);
  ASSERT_EQ(parameter_shapes(a), parameter_shapes(b));
  auto names_a = parameter_names(a), names_b = parameter_names(b);
  // Each parameter's values by its place in the order of definition.
  auto fill_by = [](const std::vector<std::string>& names) {
    return RunChoices{.fill = [&names](const ParameterEntry& entry, std::span<float> values) {
      auto place = std::find(names.begin(), names.end(), entry.name) - names.begin();
      RandomStream random(static_cast<uint64_t>(place), Purpose::initialize);
      for (size_t i = 0; i < values.size(); ++i) values[i] = 0.2f * random.uniform(i) - 0.1f;
    }};
  };
  std::vector<float> images(2 * 28 * 28);
  RandomStream random(99, Purpose::initialize);
  for (size_t i = 0; i < images.size(); ++i) images[i] = random.uniform(i);
  GraphRun run_a = run_graph(std::move(a), images, {3, 7}, fill_by(names_a));
  GraphRun run_b = run_graph(std::move(b), images, {3, 7}, fill_by(names_b));
  EXPECT_EQ(run_a.loss, run_b.loss);
  for (size_t k = 0; k < names_a.size(); ++k)
    EXPECT_EQ(run_a.gradients[names_a[k]], run_b.gradients[names_b[k]]) << names_a[k];
}

TEST(LayersModel, SpellsOutTheCnn) {
  expect_same_model(layers(test_cnn), {.name = "cnn"});
}

TEST(LayersModel, SpellsOutResnet20) {
  expect_same_model(layers(resnet_layers()), {.name = "resnet"});
}

TEST(LayersModel, NamesParametersByTheirPlace) {
  Graph graph = build(layers("{residual: {shortcut: projection, layers: [{conv2d: {channels: 4, "
                             "padding: 1, bias: false}}]}}, flatten, {repeat: {times: 2, layers: "
                             "[{dense: {units: classes}}]}}"),
                      image_input({4, 4, 1}));
  EXPECT_THAT(
      parameter_names(graph),
      testing::ElementsAre("0.residual.0.conv2d.weight", "0.residual.shortcut.conv.weight",
                           "0.residual.shortcut.norm.gamma", "0.residual.shortcut.norm.beta",
                           "2.repeat.0.0.dense.weight", "2.repeat.0.0.dense.bias",
                           "2.repeat.1.0.dense.weight", "2.repeat.1.0.dense.bias"));
  EXPECT_EQ(graph.blocks().size(), 1u);
}

struct Made {
  std::string name, layer;
  Shape in, out;  // of a sample
};

class EachLayer : public testing::TestWithParam<Made> {};

// Finds the shape by the weight of a dense head that follows.
TEST_P(EachLayer, MakesItsShape) {
  const Made& made = GetParam();
  Graph graph(true);
  std::vector<int64_t> dims = {2};
  dims.insert(dims.end(), made.in.dims().begin(), made.in.dims().end());
  bool tokens = made.name == "embedding";
  Value x = graph.input("x", {Shape(dims), tokens ? DType::i32 : DType::f32});
  Value y = layers_model(graph, x, layers(made.layer), 10);
  std::vector<int64_t> wanted = {2};
  wanted.insert(wanted.end(), made.out.dims().begin(), made.out.dims().end());
  EXPECT_EQ(graph.spec(y).shape, Shape(wanted));
}

const std::vector<Made> test_made = {
    {"conv2d", "{conv2d: {channels: 5, kernel: [3, 1], stride: [2, 1]}}", {9, 8, 2}, {4, 8, 5}},
    {"conv2d_same",
     "{conv2d: {channels: 5, kernel: [5, 3], padding: same, dilation: 2}}",
     {9, 8, 2},
     {9, 8, 5}},
    {"conv2d_groups", "{conv2d: {channels: 6, groups: 2}}", {9, 8, 4}, {7, 6, 6}},
    {"conv_transpose2d",
     "{conv_transpose2d: {channels: 5, stride: 2, output_padding: 1}}",
     {4, 3, 2},
     {10, 8, 5}},
    {"resize", "{resize: {factor: [2, 3], kind: bilinear}}", {4, 3, 2}, {8, 9, 2}},
    {"batch_norm", "batch_norm", {4, 3, 2}, {4, 3, 2}},
    {"max_pool2d", "max_pool2d", {9, 8, 2}, {4, 4, 2}},
    {"avg_pool2d", "{avg_pool2d: {kernel: 3, stride: 2, padding: 1}}", {9, 8, 2}, {5, 4, 2}},
    {"global_avg_pool", "global_avg_pool", {9, 8, 2}, {2}},
    {"global_avg_pool_tokens", "global_avg_pool", {9, 8}, {8}},
    {"dense", "{dense: {units: 7}}", {9, 8}, {9, 7}},
    {"dense_classes", "{dense: {units: classes, bias: false}}", {8}, {10}},
    {"relu", "relu", {8}, {8}},
    {"leaky_relu", "{leaky_relu: {slope: 0.2}}", {8}, {8}},
    {"gelu", "gelu, {gelu: {form: tanh}}", {8}, {8}},
    {"silu", "silu", {8}, {8}},
    {"swiglu", "swiglu", {4, 6}, {4, 3}},
    {"sigmoid", "sigmoid", {8}, {8}},
    {"tanh", "tanh", {8}, {8}},
    {"dropout", "{dropout: {rate: 0.5}}", {8}, {8}},
    {"flatten", "flatten", {4, 3, 2}, {24}},
    {"reshape", "{reshape: {shape: [3, -1]}}", {4, 3, 2}, {3, 8}},
    {"layer_norm", "layer_norm", {4, 6}, {4, 6}},
    {"rms_norm", "rms_norm", {4, 6}, {4, 6}},
    {"embedding", "{embedding: {width: 6}}", {4}, {4, 6}},
    {"positions", "positions", {4, 6}, {4, 6}},
    {"attention", "{attention: {heads: 3}}", {4, 6}, {4, 6}},
    {"transformer_block",
     "{transformer_block: {heads: 3, mlp_ratio: 2, causal: true}}",
     {4, 6},
     {4, 6}},
    {"group_norm", "{group_norm: 3}", {4, 3, 6}, {4, 3, 6}},
    {"conv1d", "{conv1d: {channels: 5, stride: 2}}", {9, 4}, {4, 5}},
    {"conv1d_same",
     "{conv1d: {channels: 6, kernel: 5, padding: same, dilation: 2, groups: 2}}",
     {9, 4},
     {9, 6}},
    {"lstm", "{lstm: 5}", {9, 4}, {9, 5}},
    {"lstm_last", "{lstm: {units: 5, output: last}}", {9, 4}, {5}},
    {"gru", "{gru: 5}", {9, 4}, {9, 5}},
    {"gru_last", "{gru: {units: 5, output: last}}", {9, 4}, {5}},
    {"activation", "{activation: gelu}", {8}, {8}},
    {"concat", "{concat: [input, previous, input]}", {9, 4}, {9, 12}},
    {"add", "{add: [input, previous]}", {9, 4}, {9, 4}},
    {"residual",
     "{residual: {layers: [{conv2d: {channels: 5, stride: 2, padding: 1}}]}}",
     {9, 8, 2},
     {5, 4, 5}},
    {"residual_dense", "{residual: {layers: [{dense: {units: 5}}]}}", {4, 6}, {4, 5}},
    {"repeat", "{repeat: {times: 3, layers: [max_pool2d]}}", {8, 16, 1}, {1, 2, 1}},
};

INSTANTIATE_TEST_SUITE_P(Layers, EachLayer, testing::ValuesIn(test_made),
                         [](const auto& test) { return test.param.name; });

TEST(EachLayerType, HasACase) {
  for (const LayerType& type : layer_types()) {
    bool found = std::any_of(test_made.begin(), test_made.end(),
                             [&](const Made& made) { return made.name == type.name; });
    EXPECT_TRUE(found) << type.name;
  }
}

TEST(LayersModel, NamesTheLayerThatDoesNotFit) {
  ModelInput input = image_input({8, 8, 1});
  EXPECT_EQ(refusal("relu, flatten, {conv2d: {channels: 3}}", input),
            "model.layers[2].conv2d: takes images (N, H, W, C); {reshape: {shape: [H, W, C]}} "
            "before it makes some; its input is (2, 64)");
  EXPECT_EQ(
      refusal("relu, {residual: {layers: [relu, {conv2d: {channels: 2, kernel: 9}}]}}", input),
      "model.layers[1].residual.layers[1].conv2d: [conv2d] kernel 9x9 with dilation 1 does "
      "not fit input 8x8 with padding 0; its input is (2, 8, 8, 1)");
  EXPECT_THAT(refusal("{residual: {shortcut: identity, layers: [max_pool2d]}}, flatten", input),
              HasSubstr("model.layers[0].residual: its layers turn it into (2, 4, 4, 1); use "
                        "shortcut: auto; its input is (2, 8, 8, 1)"));
  EXPECT_THAT(refusal("{repeat: {times: 5, layers: [max_pool2d]}}", input),
              HasSubstr("model.layers[0].repeat.layers[0].max_pool2d: [max_pool2d] kernel 2x2"));
  EXPECT_THAT(refusal("{conv2d: {channels: 2, kernel: 4, padding: same}}", input),
              HasSubstr("model.layers[0].conv2d: padding: same needs an odd kernel, got 4x4"));
  EXPECT_THAT(refusal("{conv2d: {channels: 2, kernel: [3, 2], padding: same}}", input),
              HasSubstr("padding: same needs an odd kernel, got 3x2"));
  EXPECT_THAT(
      refusal("{reshape: [8, 8]}, {conv1d: {channels: 2, kernel: 4, padding: same}}", input),
      HasSubstr("model.layers[1].conv1d: padding: same needs an odd kernel, got 4;"));
  EXPECT_THAT(
      refusal("{reshape: [8, 8]}, {transformer_block: {heads: 2, mlp: swiglu, gelu: tanh}}", input),
      HasSubstr("model.layers[1].transformer_block: gelu: tanh is a form of mlp: gelu, but "
                "mlp is swiglu; leave out gelu, or use mlp: gelu"));
  EXPECT_THAT(refusal("{reshape: {shape: [5, -1]}}", input),
              HasSubstr("model.layers[0].reshape: "));
  EXPECT_THAT(refusal("{reshape: {shape: [-1, -1]}}", input),
              HasSubstr("cannot be reshaped to (-1, -1): there are 64 values"));
  EXPECT_THAT(refusal("{reshape: {shape: [1000000000, 1000000000, 1000000000]}}", input),
              HasSubstr("there are 64 values"));
}

// A layer takes an input, or the message names the layer and the shape of its input.
TEST(LayersModel, ErrorsNameTheLayerAndItsInputShape) {
  const std::vector<std::pair<std::string, Shape>> shapes = {
      {"flatten", {2, 64}}, {"{reshape: {shape: [8, 8]}}", {2, 8, 8}}, {"relu", {2, 8, 8, 1}}};
  int refused = 0;
  for (const Made& made : test_made) {
    for (const auto& [before, shape] : shapes) {
      std::string list = before + ", " + made.layer + ", {dense: {units: 9}}";
      std::string text = refusal(list, image_input({8, 8, 1}));
      if (text.starts_with("model.layers: ")) continue;  // it was taken
      ++refused;
      EXPECT_THAT(text, StartsWith("model.layers[1].")) << list;
      bool joins = made.name == "concat" || made.name == "add";
      std::string inputs = joins ? "; its inputs are " : "; its input is " + to_string(shape);
      EXPECT_THAT(text, HasSubstr(inputs)) << list;
    }
  }
  EXPECT_GT(refused, 12);
}

TEST(LayersModel, AttentionOnImagesAsksForTokens) {
  EXPECT_EQ(refusal("flatten, {attention: {heads: 8}}", image_input({8, 8, 1})),
            "model.layers[1].attention: takes tokens (N, T, C); {reshape: {shape: [T, C]}} before "
            "it makes some; its input is (2, 64)");
}

// Each number is in the range of its key, but no machine can hold their product.
TEST(LayersModel, TensorsBeyondAllMemoryAreRefused) {
  EXPECT_EQ(refusal("{repeat: {times: 4, layers: [{resize: {factor: 64}}]}}, flatten",
                    image_input({8, 8, 1})),
            "model.layers[0].repeat.layers[0].resize: a tensor of (2, 2097152, 2097152, 1) has "
            "more than 2^40 elements; make the model smaller; its input is (2, 32768, 32768, 1)");
  EXPECT_THAT(refusal("{repeat: {times: 2, layers: [{conv2d: {channels: 1000000, padding: 1}}]}}",
                      image_input({8, 8, 1})),
              HasSubstr("conv2d: a tensor of (1000000, 1000000, 3, 3) has more than 2^40"));
}

TEST(LayersModel, MustEndWithWhatTheDataNeeds) {
  EXPECT_EQ(refusal("flatten, {dense: {units: 9}}", image_input({8, 8, 1})),
            "model.layers: the output of the last layer is (2, 9), but for a batch of 2 it must be "
            "(2, 10); end with flatten and {dense: {units: classes}}");
  EXPECT_EQ(refusal("max_pool2d", image_input({8, 8, 1})),
            "model.layers: the output of the last layer is (2, 4, 4, 1), but for a batch of 2 it "
            "must be (2, 8, 8, 1)");
}

// The task of layers follows from the shape of the last one.
TEST(LayersModel, TheLastLayerDecidesTheTask) {
  std::vector<Column> images = image_input({8, 8, 1}).columns;
  EXPECT_EQ(task_of(layers(test_cnn), images), Task::classify);
  EXPECT_EQ(task_of(layers("max_pool2d, resize"), images), Task::reconstruct);
  EXPECT_EQ(task_of(layers("flatten, {dense: {units: 64}}, {reshape: {shape: [8, 8, 1]}}"), images),
            Task::reconstruct);
  EXPECT_EQ(
      task_of(layers("{dense: {units: 1}}"), {{"features", {6}}, {"values", {1}, DType::f32}}),
      Task::regress);
  EXPECT_EQ(task_of(layers("{embedding: {width: 8}}"),
                    {{"tokens", {6}, DType::i32}, {"targets", {6}, DType::i32}}),
            Task::predict_tokens);
}

TEST(LayersModel, ReadsTokens) {
  ModelInput input{.columns = {{"tokens", {6}, DType::i32}, {"targets", {6}, DType::i32}},
                   .classes = 10,
                   .batch = 2};
  EXPECT_EQ(output_shape("{embedding: {width: 8}}, positions, {repeat: {times: 2, layers: "
                         "[{transformer_block: {heads: 2, causal: true}}]}}, layer_norm, {dense: "
                         "{units: classes}}",
                         input),
            (Shape{2, 6, 10}));
}

// The classes are the labels' there, or the number of values.
TEST(LayersModel, AsksForTheVocabularyOfTokensWithLabelsOrValues) {
  for (const Column& target : {Column{"labels", {}, DType::i32}, Column{"values", {3}}}) {
    ModelInput input{.columns = {{"tokens", {6}, DType::i32}, target}, .classes = 3, .batch = 2};
    for (const char* first : {"{embedding: 8}", "{embedding: {width: 8, vocabulary: classes}}"})
      EXPECT_THAT(
          refusal(fmt::format("{}, global_avg_pool, {{dense: classes}}", first), input),
          StartsWith(fmt::format("model.layers[0].embedding: vocabulary: classes counts the "
                                 "{} (3), not the tokens; set vocabulary: N, the largest "
                                 "token + 1",
                                 target.name)));
    EXPECT_EQ(output_shape("{embedding: {width: 8, vocabulary: 20}}, global_avg_pool, {dense: "
                           "classes}",
                           input),
              (Shape{2, 3}));
  }
}

TEST(LayersModel, BatchNormMaySumOverAllTowers) {
  ModelConfig config = layers("batch_norm, flatten, {dense: {units: classes}}");
  config.batch_norm = ModelConfig::BatchNorm::sync;
  Graph graph = build(config, image_input({8, 8, 1}));
  EXPECT_TRUE(std::any_of(graph.nodes().begin(), graph.nodes().end(),
                          [](const Node& node) { return node.op->sums_towers(); }));
}

TEST(LayersModel, ResidualsAndRepeatsComputeWhatTheyList) {
  std::vector<float> x = {-2, -1, 0, 3};
  auto through = [&](const std::string& list) {
    return forward(build(layers(list + ", {reshape: {shape: [2, 2, 1]}}"),
                         {.columns = {{"images", {2, 2, 1}}}, .classes = 1}, false),
                   x.data());
  };
  EXPECT_EQ(through("{leaky_relu: {slope: 0.5}}"), (std::vector<float>{-1, -0.5, 0, 3}));
  EXPECT_EQ(through("{residual: {layers: [relu]}}"), (std::vector<float>{-2, -1, 0, 6}));
  EXPECT_EQ(through("max_pool2d, resize"), (std::vector<float>{3, 3, 3, 3}));
  EXPECT_EQ(through("{repeat: {times: 3, layers: [{residual: {layers: [relu]}}]}}"),
            (std::vector<float>{-2, -1, 0, 24}));
}

TEST(LayersModel, LinksComputeWhatTheyName) {
  std::vector<float> x = {-2, -1, 0, 3};
  auto through = [&](const std::string& list) {
    return forward(build(layers(list + ", {reshape: [2, 2, 1]}"),
                         {.columns = {{"images", {2, 2, 1}}}, .classes = 1}, false),
                   x.data());
  };
  EXPECT_EQ(through("relu, {add: [input, previous]}"), (std::vector<float>{-2, -1, 0, 6}));
  EXPECT_EQ(through("{relu: {name: a}}, {leaky_relu: {slope: 0.5, from: input}}, {add: [a, a, "
                    "previous]}"),
            (std::vector<float>{-1, -0.5, 0, 9}));
  EXPECT_EQ(through("{max_pool2d: {name: a}}, resize, {relu: {from: a}}, resize"),
            (std::vector<float>{3, 3, 3, 3}));
  // Inside a list, names of the lists around it are known; input is what the list takes.
  EXPECT_EQ(through("{relu: {name: a}}, {repeat: {times: 2, layers: [{add: [input, a]}]}}"),
            (std::vector<float>{0, 0, 0, 9}));
  EXPECT_EQ(through("{residual: {layers: [{relu: {name: b}}, {add: [b, b]}]}}"),
            (std::vector<float>{-2, -1, 0, 9}));
}

TEST(LayersModel, ActivationsMayStandInTheirLayer) {
  expect_same_model(layers("{conv2d: {channels: 4, activation: relu}}, flatten, {dense: {units: 8, "
                           "activation: gelu}}, {dense: classes}"),
                    layers("{conv2d: 4}, {activation: relu}, flatten, {dense: 8}, gelu, {dense: "
                           "classes}"));
}

TEST(LayersModel, RefusesLinksThatLeadNowhere) {
  ModelInput input = image_input({8, 8, 1});
  EXPECT_EQ(refusal("{relu: {name: stem}}, {tanh: {from: stme}}", input),
            "model.layers[1].tanh: from: no layer before it is named 'stme'; did you mean 'stem'?; "
            "its input is (2, 8, 8, 1)");
  EXPECT_THAT(refusal("{tanh: {from: later}}, {relu: {name: later}}", input),
              HasSubstr("no layer before it is named 'later'; known are input, previous"));
  EXPECT_THAT(refusal("{residual: {layers: [{relu: {name: in}}]}}, {tanh: {from: in}}", input),
              HasSubstr("no layer before it is named 'in'"));
  EXPECT_THAT(
      refusal("{relu: {name: a}}, {relu: {name: a}}", input),
      HasSubstr("model.layers[1].relu: name: an earlier layer is 'a' already; take another"));
  EXPECT_THAT(refusal("{relu: {name: a}}, {tanh: {from: [a, input]}}", input),
              HasSubstr("from: takes one output, not 2; join them by concat or add"));
  EXPECT_THAT(refusal("{relu: {name: a}}, {concat: a}", input),
              HasSubstr("from: joins two or more outputs; list them, such as [a, previous]"));
  EXPECT_THAT(refusal("max_pool2d, {concat: [input, previous]}", input),
              HasSubstr("model.layers[1].concat: [concat]"));
  EXPECT_THAT(refusal("max_pool2d, {add: [input, previous]}", input),
              EndsWith("; its inputs are (2, 8, 8, 1) and (2, 4, 4, 1)"));
}

TEST(LayersModel, LinksDecideTheTask) {
  std::vector<Column> images = image_input({8, 8, 1}).columns;
  EXPECT_EQ(task_of(layers("{relu: {name: a}}, flatten, {relu: {from: a}}"), images),
            Task::reconstruct);
  EXPECT_EQ(task_of(layers("relu, {flatten: {name: a}}, {reshape: [8, 8, 1]}, {dense: {units: "
                           "classes, from: a}}"),
                    images),
            Task::classify);
  EXPECT_EQ(task_of(layers("{reshape: [8, 8]}, {gru: {units: 4, output: last}}, {dense: classes}"),
                    images),
            Task::classify);
}

}  // namespace
}  // namespace spire
