// Tests model.layers: reading, writing, and errors with their places.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "engine/config/check.h"
#include "engine/config/layer_types.h"
#include "engine/config/text.h"
#include "tests/config/config_text.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using List = std::vector<int64_t>;
using Strings = std::vector<std::string>;

const std::string residual_yaml = R"(model:
  layers:
    - conv2d: {channels: 16, kernel: [3, 5], padding: same, bias: false}
    - batch_norm
    - residual:
        shortcut: projection
        layers:
          - relu
          - repeat: {times: 2, layers: [{conv2d: {channels: 8, padding: 1}}, tanh]}
    - dense: {units: classes}
)";

TEST(Layers, AreReadWithTheirTypes) {
  ModelConfig model = parse(residual_yaml).config.model;
  EXPECT_EQ(model.name, "layers");
  ASSERT_EQ(model.layers.size(), 4u);
  const LayerConfig& conv = model.layers[0];
  EXPECT_EQ(conv.type, "conv2d");
  EXPECT_EQ(layer_value<int64_t>(conv, "channels"), 16);
  EXPECT_EQ(layer_value<List>(conv, "kernel"), (List{3, 5}));
  EXPECT_EQ(layer_value<std::string>(conv, "padding"), "same");
  EXPECT_FALSE(layer_value<bool>(conv, "bias"));
  EXPECT_EQ(layer_value<List>(conv, "stride"), List{1});
  EXPECT_EQ(layer_value<double>(model.layers[1], "momentum"), 0.1);
  const LayerConfig& residual = model.layers[2];
  EXPECT_EQ(layer_value<std::string>(residual, "shortcut"), "projection");
  ASSERT_EQ(residual.layers.size(), 2u);
  EXPECT_EQ(layer_value<int64_t>(residual.layers[1], "times"), 2);
  EXPECT_EQ(residual.layers[1].layers[1].type, "tanh");
  EXPECT_EQ(layer_value<std::string>(model.layers[3], "units"), "classes");
  EXPECT_EQ(count_layers(model.layers), 4 + 2 + 4);
}

TEST(Layers, ReadBackFromBothForms) {
  RunConfig config = parse(residual_yaml).config;
  RunConfig again = parse(to_yaml(config)).config;
  EXPECT_EQ(again.model.layers, config.model.layers);
  EXPECT_EQ(again.model.name, "layers");
  std::string line = "model.layers=" + value_text(*find_field("model.layers"), config);
  EXPECT_EQ(parse("", {line}).config.model.layers, config.model.layers);
  ResolvedConfig annotated = parse(to_annotated_yaml(parse(residual_yaml)));
  EXPECT_EQ(annotated.config.model.layers, config.model.layers);
}

TEST(Layers, AreWrittenWithoutTheirDefaults) {
  RunConfig config =
      parse("model: {layers: [{conv2d: {channels: 4, kernel: [3, 3], stride: [1, 2]}}, relu]}")
          .config;
  EXPECT_EQ(value_text(*find_field("model.layers"), config),
            "[{conv2d: {channels: 4, stride: [1, 2]}}, relu]");
  EXPECT_THAT(to_yaml(config), HasSubstr("  layers:\n"
                                         "    - conv2d: {channels: 4, stride: [1, 2]}\n"
                                         "    - relu\n"));
}

TEST(Layers, HaveASourceAndGiveTheModelItsName) {
  ResolvedConfig resolved = parse("model:\n  layers: [relu]\n");
  EXPECT_EQ(resolved.source.at("model.layers"), "run.yaml:2:3");
  EXPECT_EQ(resolved.source.at("model.name"), "model.layers");
  EXPECT_EQ(parse("model: {name: layers, layers: [relu]}").config.model.name, "layers");
  EXPECT_EQ(
      parse("model: {layers: [relu]}", {"model.layers=[]", "model.name=cnn"}).config.model.name,
      "cnn");
}

TEST(Layers, EachHasASource) {
  std::string text =
      "model:\n  layers:\n    - relu\n    - residual:\n        layers:\n"
      "          - dense: {units: 3}\n    - {repeat: {times: 2, layers: [tanh]}}\n";
  ResolvedConfig resolved = parse(text);
  EXPECT_EQ(resolved.source.at("model.layers[0].relu"), "run.yaml:3:7");
  EXPECT_EQ(resolved.source.at("model.layers[1].residual"), "run.yaml:4:7");
  EXPECT_EQ(resolved.source.at("model.layers[1].residual.layers[0].dense"), "run.yaml:6:13");
  EXPECT_EQ(resolved.source.at("model.layers[2].repeat.layers[0].tanh"), "run.yaml:7:36");
  resolved = parse(text, {"model.layers=[flatten]"});
  EXPECT_EQ(resolved.source.at("model.layers[0].flatten"), "command line");
  EXPECT_FALSE(resolved.source.contains("model.layers[1].residual"));
}

TEST(Layers, HaveShortForms) {
  RunConfig config = parse(R"(model:
  layers:
    - conv2d: 32
    - activation: relu
    - max_pool2d: [2, 3]
    - residual: [relu, dropout: 0.5]
    - gelu: tanh
    - dense: classes
)")
                         .config;
  EXPECT_EQ(
      value_text(*find_field("model.layers"), config),
      "[{conv2d: {channels: 32}}, {activation: {kind: relu}}, {max_pool2d: {kernel: [2, 3]}}, "
      "{residual: {layers: [relu, {dropout: {rate: 0.5}}]}}, {gelu: {form: tanh}}, {dense: "
      "{units: classes}}]");
}

TEST(Layers, AreLinkedByName) {
  ResolvedConfig resolved = parse(R"(model:
  layers:
    - conv2d: {channels: 4, name: stem, activation: relu}
    - relu: {from: input}
    - concat: [stem, previous]
    - add: {from: [stem, input], name: sum}
)");
  const std::vector<LayerConfig>& layers = resolved.config.model.layers;
  EXPECT_EQ(layer_value<std::string>(layers[0], "name"), "stem");
  EXPECT_EQ(layer_value<std::string>(layers[0], "from"), "previous");
  EXPECT_THAT(names_in(layer_value<std::string>(layers[2], "from")),
              ElementsAre("stem", "previous"));
  EXPECT_EQ(value_text(*find_field("model.layers"), resolved.config),
            "[{conv2d: {channels: 4, activation: relu, name: stem}}, {relu: {from: input}}, "
            "{concat: {from: [stem, previous]}}, {add: {from: [stem, input], name: sum}}]");
  EXPECT_EQ(parse(to_yaml(resolved.config)).config.model.layers, layers);
}

TEST(Layers, OfTheCommandLineReplaceThoseOfTheFile) {
  RunConfig config = parse(residual_yaml, {"model.layers=[flatten, {dense: {units: 3}}]"}).config;
  EXPECT_EQ(value_text(*find_field("model.layers"), config), "[flatten, {dense: {units: 3}}]");
}

struct InvalidLayerCase {
  std::string name, layers, message;  // the layers begin in line 2, column 3
};

class InvalidLayer : public testing::TestWithParam<InvalidLayerCase> {};

TEST_P(InvalidLayer, SaysWhereAndWhat) {
  EXPECT_EQ(message_of("model:\n  layers:\n" + GetParam().layers), GetParam().message);
}

const std::vector<InvalidLayerCase> invalid_layers = {
    {"UnknownLayer", "  - conv3d: {channels: 3}\n",
     "run.yaml:3:5: model.layers[0]: unknown layer 'conv3d'; did you mean 'conv2d'?"},
    {"UnknownWord", "  - flatten\n  - rleu\n",
     "run.yaml:4:5: model.layers[1]: unknown layer 'rleu'; did you mean 'relu'?"},
    {"UnknownKey", "  - conv2d: {channels: 3, kernal: 3}\n",
     "run.yaml:3:27: model.layers[0].conv2d.kernal: unknown key; did you mean 'kernel'?"},
    {"KeyOfAKeylessLayer", "  - relu: {slope: 1}\n",
     "run.yaml:3:12: model.layers[0].relu.slope: unknown key; must be one of: name, from"},
    {"NestedKey",
     "  - relu\n  - residual:\n      layers:\n        - relu\n        - dense: {unit: 3}\n",
     "run.yaml:7:19: model.layers[1].residual.layers[1].dense.unit: unknown key; did you mean "
     "'units'?"},
    {"Missing", "  - conv2d: {kernel: 3}\n",
     "run.yaml:3:5: model.layers[0].conv2d: the key 'channels' is missing (output channels)"},
    {"MissingAll", "  - dropout\n",
     "run.yaml:3:5: model.layers[0].dropout: the key 'rate' is missing (dropout probability)"},
    {"MissingLayers", "  - residual: {shortcut: identity}\n",
     "run.yaml:3:5: model.layers[0].residual: the key 'layers' is missing (a list of layers)"},
    {"Type", "  - conv2d: {channels: many}\n",
     "run.yaml:3:24: model.layers[0].conv2d.channels: expected an integer in plain decimal "
     "digits, got 'many'"},
    {"Word", "  - dense: {units: clases}\n",
     "run.yaml:3:20: model.layers[0].dense.units: expected an integer in plain decimal digits, "
     "got 'clases'; also allowed: classes; did you mean 'classes'?"},
    {"Quoted", "  - dense: {units: \"3\"}\n",
     "run.yaml:3:20: model.layers[0].dense.units: expected an integer, got the quoted text '3'; "
     "remove the quotes; also allowed: classes"},
    {"Boolean", "  - dense: {units: 3, bias: 1}\n",
     "run.yaml:3:29: model.layers[0].dense.bias: expected true or false, got '1'"},
    {"Range", "  - dropout: {rate: 1}\n",
     "run.yaml:3:21: model.layers[0].dropout.rate: 1 is out of range; it must be in [0, 1)"},
    {"RangeInAPair", "  - conv2d: {channels: 1, kernel: [3, 0]}\n",
     "run.yaml:3:35: model.layers[0].conv2d.kernel: 0 is out of range; it must be in [1, 1024]"},
    {"Triple", "  - conv2d: {channels: 1, kernel: [3, 3, 3]}\n",
     "run.yaml:3:35: model.layers[0].conv2d.kernel: expected one integer, or two as [height, "
     "width], got 3 integers"},
    {"Choice", "  - gelu: {form: tan}\n",
     "run.yaml:3:18: model.layers[0].gelu.form: unknown value 'tan'; must be one of: exact, tanh; "
     "did "
     "you mean 'tanh'?"},
    {"Twice", "  - dense: {units: 1, units: 2}\n",
     "run.yaml:3:23: model.layers[0].dense.units: given twice; remove one of them"},
    {"Unindented", "  - dense:\n    units: 1\n",
     "run.yaml:3:5: model.layers[0]: expected one layer, such as relu or conv2d: {channels: 32}, "
     "got a "
     "map of 2 keys; indent a layer's keys below its name"},
    {"NoShortForm", "  - batch_norm: 10\n",
     "run.yaml:3:17: model.layers[0].batch_norm: expected a map of the layer's keys, got '10'"},
    {"ShortForm", "  - dropout: 1\n",
     "run.yaml:3:14: model.layers[0].dropout.rate: 1 is out of range; it must be in [0, 1)"},
    {"LayerOfKeras", "  - Dense: 10\n",
     "run.yaml:3:5: model.layers[0]: unknown layer 'Dense'; did you mean 'dense'?"},
    {"LayerOfPytorch", "  - linear: 10\n",
     "run.yaml:3:5: model.layers[0]: unknown layer 'linear'; did you mean 'dense'?"},
    {"KeyOfKeras", "  - conv2d: {filters: 3}\n",
     "run.yaml:3:14: model.layers[0].conv2d.filters: unknown key; did you mean 'channels'?"},
    {"KeyOfPytorch", "  - max_pool2d: {kernel_size: 3}\n",
     "run.yaml:3:18: model.layers[0].max_pool2d.kernel_size: unknown key; did you mean 'kernel'?"},
    {"Activation", "  - dense: {units: 3, activation: rleu}\n",
     "run.yaml:3:35: model.layers[0].dense.activation: unknown value 'rleu'; must be one of: none, "
     "relu, leaky_relu, gelu, silu, sigmoid, tanh; did you mean 'relu'?"},
    {"LinkName", "  - relu: {name: a b}\n",
     "run.yaml:3:18: model.layers[0].relu.name: 'a b' is no name of a layer: 1 to 64 letters, "
     "digits, underscores and dashes"},
    {"TakenLinkName", "  - relu: {name: previous}\n",
     "run.yaml:3:18: model.layers[0].relu.name: 'previous' already has a meaning in `from`; take "
     "another name"},
    {"NoLinks", "  - concat\n",
     "run.yaml:3:5: model.layers[0].concat: the key 'from' is missing (what to take: names of "
     "earlier layers, previous or input)"},
    {"NoList", "    relu\n", "run.yaml:3:5: model.layers: expected a list of layers, got 'relu'"},
    {"ListOfLists", "  - [relu]\n",
     "run.yaml:3:5: model.layers[0]: expected one layer, such as relu or conv2d: {channels: 32}, "
     "got a "
     "list; indent a layer's keys below its name"},
    {"TooMany", "  - repeat: {times: 1000, layers: [{repeat: {times: 1000, layers: [relu]}}]}\n",
     "run.yaml:3:3: model.layers: more than 10000 layers, counting repeated ones; use fewer"},
};

INSTANTIATE_TEST_SUITE_P(Layers, InvalidLayer, testing::ValuesIn(invalid_layers),
                         [](const auto& test) { return test.param.name; });

TEST(InvalidLayers, AllProblemsAreReported) {
  EXPECT_EQ(
      message_of("seed: x\nmodel: {layers: [rleu, {dense: {units: 0, bia: true}}]}\n"),
      "run.yaml:1:7: seed: expected an integer >= 0 in plain decimal digits, got "
      "'x'\nrun.yaml:2:18: model.layers[0]: unknown layer 'rleu'; did you mean "
      "'relu'?\nrun.yaml:2:40: model.layers[1].dense.units: 0 is out of range; it must be in [1, "
      "1000000]\nrun.yaml:2:43: model.layers[1].dense.bia: unknown key; did you mean 'bias'?");
}

TEST(InvalidLayers, OtherModelsDoNotTakeLayers) {
  EXPECT_EQ(message_of("model: {name: cnn, layers: [relu]}\n"),
            "run.yaml:1:9: model.name: cnn does not take model.layers; remove model.layers, or set "
            "model.name: layers");
  EXPECT_EQ(
      message_of("model: {name: layers}\n"),
      "run.yaml:1:9: model.layers: the list is empty; list at least one layer (model.layers is not "
      "set, and its default is [])");
}

TEST(InvalidLayers, OnTheCommandLineAreNamed) {
  EXPECT_EQ(message_of("", {"model.layers=[{dense: {unit: 1}}]"}),
            "command line: model.layers[0].dense.unit: unknown key; did you mean 'units'?");
}

// Without a limit this kilobyte of aliases would be 3^12 layers.
TEST(InvalidLayers, AliasesDoNotMultiplyWithoutEnd) {
  std::string yaml = "model:\n  layers:\n    - &a0 {residual: {layers: [relu]}}\n";
  for (int i = 1; i <= 12; ++i) {
    yaml += fmt::format("    - &a{} {{residual: {{layers: [*a{}, *a{}, *a{}]}}}}\n", i, i - 1,
                        i - 1, i - 1);
  }
  EXPECT_THAT(message_of(yaml), HasSubstr("more than 10000 layers"));
}

TEST(InvalidLayers, AListInsideItselfEnds) {
  EXPECT_THAT(message_of("model:\n  layers: &l\n    - residual: {layers: *l}\n"),
              HasSubstr("layers are nested more than 16 lists deep; nest them less"));
}

TEST(LayerChecks, ApplyToLayersMadeByAProgram) {
  RunConfig config;
  config.model.name = "layers";
  auto refusal = [&](LayerConfig layer) -> std::string {
    config.model.layers = {{.type = "relu"}, std::move(layer)};
    try {
      check_config(config);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({.type = "dense", .values = {{"units", int64_t{3}}}}), "");
  EXPECT_THAT(refusal({.type = "dens"}), HasSubstr("model.layers: [1].dens: unknown layer"));
  EXPECT_THAT(refusal({.type = "dense"}), HasSubstr("[1].dense: the key 'units' is missing"));
  EXPECT_THAT(refusal({.type = "dense", .values = {{"units", int64_t{0}}}}),
              HasSubstr("[1].dense.units: 0 is out of range"));
  EXPECT_THAT(refusal({.type = "dense", .values = {{"units", 3.0}}}),
              HasSubstr("[1].dense.units: the value has a type that this key does not take"));
  EXPECT_THAT(refusal({.type = "tanh", .values = {{"units", int64_t{3}}}}),
              HasSubstr("[1].tanh.units: unknown key"));
  EXPECT_THAT(refusal({.type = "tanh", .layers = {{.type = "relu"}}}),
              HasSubstr("[1].tanh: tanh does not take layers of its own"));
  EXPECT_THAT(refusal({.type = "residual", .layers = {{.type = "dense"}}}),
              HasSubstr("[1].residual.layers[0].dense: the key 'units' is missing"));
}

TEST(LayerTypes, AreCompleteAndTheirDefaultsAreAllowed) {
  Strings names;
  for (const LayerType& type : layer_types()) {
    EXPECT_FALSE(type.help.empty()) << type.name;
    EXPECT_EQ(std::count(names.begin(), names.end(), type.name), 0) << type.name;
    names.push_back(type.name);
    Strings keys;
    for (const LayerKey& key : type.keys) {
      SCOPED_TRACE(type.name + "." + key.name);
      EXPECT_FALSE(key.help.empty());
      EXPECT_EQ(std::count(keys.begin(), keys.end(), key.name), 0);
      keys.push_back(key.name);
      if (key.fallback) {
        EXPECT_NO_THROW(check_layer_value(key, *key.fallback));
      }
      bool number = key.kind == LayerKind::integer || key.kind == LayerKind::number ||
                    key.kind == LayerKind::extent || key.kind == LayerKind::integers;
      EXPECT_EQ(number, !key.range.text().empty());
    }
  }
}

TEST(LayerTypes, AreListedInTheHelp) {
  std::string help = config_help();
  for (const LayerType& type : layer_types()) {
    EXPECT_THAT(help, HasSubstr("\n" + type.name + " "));
    for (const LayerKey& key : type.keys) EXPECT_THAT(help, HasSubstr(key.help));
  }
  EXPECT_THAT(
      help, HasSubstr("  units: required                        integer in [1, 1000000], or "
                      "classes; output features; classes: as many as the data has (short form)\n"));
  EXPECT_THAT(help, HasSubstr("  stride: kernel "));
}

}  // namespace
}  // namespace spire
