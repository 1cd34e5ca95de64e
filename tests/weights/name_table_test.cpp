// Every parameter of every model goes out under others' names and comes back with the same bits.
#include "engine/weights/names/name_table.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/config/words.h"
#include "engine/weights/names/known_names.h"
#include "engine/weights/weight_match.h"
#include "tests/weights/made_tensors.h"

namespace spire {
namespace {

struct Case {
  std::string name;
  MadeModel model;
  std::set<WeightNames> names;  // besides spire and pytorch
};

TrainingState made_state(const Graph& graph) {
  TrainingState state;
  TensorsInMemory made;
  for (Role role : {Role::parameter, Role::state}) {
    for (Value value : graph.values_of(role))
      made.add(graph.tensor(value).name, graph.spec(value).shape);
    (role == Role::parameter ? state.weights : state.states) = std::move(made.tensors);
    made.tensors.clear();
  }
  return state;
}

// Reads in odd parts, as writers do.
std::shared_ptr<TensorsInMemory> written(const std::vector<TensorToWrite>& tensors, size_t part) {
  auto file = std::make_shared<TensorsInMemory>();
  for (const TensorToWrite& tensor : tensors) {
    auto count = static_cast<size_t>(tensor.shape.elements());
    NamedTensor copy{tensor.name, tensor.shape, std::vector<float>(count)};
    for (size_t at = 0; at < count; at += part)
      tensor.read(static_cast<int64_t>(at),
                  std::span(copy.values).subspan(at, std::min(part, count - at)));
    file->tensors.push_back(std::move(copy));
  }
  return file;
}

class Names : public testing::TestWithParam<Case> {};

TEST_P(Names, GoOutAndComeBack) {
  const auto& [unused, model, more] = GetParam();
  Graph graph = model.graph();
  TrainingState state = made_state(graph);
  std::set<WeightNames> all = {WeightNames::spire, WeightNames::pytorch};
  all.insert(more.begin(), more.end());
  for (WeightNames names : {WeightNames::spire, WeightNames::pytorch, WeightNames::torchvision,
                            WeightNames::huggingface}) {
    if (!all.contains(names)) {
      EXPECT_THROW(name_table(names, model.config, graph), Error) << word_of(names);
      continue;
    }
    NameTable table = name_table(names, model.config, graph);
    WeightFile file("made up", written(tensors_to_write(table, state), 1000));
    WeightMatch match(file, {.names = names}, model.config, graph);
    EXPECT_TRUE(match.fresh().empty());
    for (const auto* group : {&state.weights, &state.states}) {
      for (const NamedTensor& tensor : *group) {
        std::vector<float> values(tensor.values.size());
        ASSERT_TRUE(match.read(tensor.name, values)) << tensor.name;
        EXPECT_EQ(values, tensor.values) << word_of(names) << " " << tensor.name;
      }
    }
  }
}

const std::vector<LayerConfig> residual_layers = {
    {"conv2d", {{"channels", int64_t{4}}, {"padding", std::string("same")}}, {}},
    {"flatten", {}, {}},
    {"residual", {}, {{"dense", {{"units", int64_t{64}}}, {}}, {"relu", {}, {}}}},
    {"layer_norm", {}, {}},
    {"dense", {{"units", std::string("classes")}}, {}}};

using enum WeightNames;
INSTANTIATE_TEST_SUITE_P(
    Models, Names,
    testing::Values(
        Case{"linear", {{.name = "linear"}, image_columns(4)}, {}},
        Case{"mlp", {{.name = "mlp", .hidden = {6}}, image_columns(4)}, {}},
        Case{"lenet", {{.name = "lenet"}, image_columns(32)}, {}},
        Case{"cnn",
             {{.name = "cnn",
               .hidden = {7},
               .channels = {4, 6},
               .normalization = ModelConfig::Normalization::batch_norm},
              image_columns(8)},
             {}},
        Case{"resnet", {{.name = "resnet", .depth = 8}, image_columns(8)}, {torchvision}},
        Case{"resnet_identity",
             {{.name = "resnet", .depth = 8, .shortcut = ModelConfig::Shortcut::identity},
              image_columns(8)},
             {}},
        Case{"small_vgg", {{.name = "vgg", .depth = 11}, image_columns(8)}, {}},
        Case{"unet", {{.name = "unet", .channels = {3, 4}}, image_columns(8)}, {}},
        Case{"autoencoder",
             {{.name = "autoencoder", .hidden = {5}, .channels = {4, 6}}, image_columns(8)},
             {}},
        Case{"gpt",
             {{.name = "gpt", .blocks = 2, .width = 8, .heads = 2}, token_columns(6), 11},
             {huggingface}},
        Case{"llama",
             {{.name = "llama", .blocks = 2, .width = 8, .heads = 4, .kv_heads = 2, .mlp_width = 6},
              token_columns(6),
              11},
             {huggingface}},
        Case{"tied_llama",
             {{.name = "llama", .blocks = 1, .width = 8, .heads = 2, .tied_head = true},
              token_columns(6),
              11},
             {huggingface}},
        Case{"vit",
             {{.name = "vit", .blocks = 2, .width = 8, .heads = 2, .patch = 4}, image_columns(8)},
             {torchvision, huggingface}},
        Case{"layers", {{.name = "layers", .layers = residual_layers}, image_columns(4)}, {}}),
    [](const auto& test) { return test.param.name; });

std::vector<std::string> names_of(const NameTable& table) {
  std::vector<std::string> names;
  for (const NamedParameter& parameter : table.parameters)
    for (const TensorPart& part : parameter.parts) names.push_back(part.name);
  return names;
}

// The layers of torchvision.models.vgg16_bn.
TEST(NameTable, CountsTheLayersOfAVgg) {
  MadeModel model{
      {.name = "vgg", .depth = 16, .normalization = ModelConfig::Normalization::batch_norm},
      image_columns(224)};
  auto names = names_of(name_table(WeightNames::torchvision, model.config, model.graph()));
  for (const char* name :
       {"features.0.weight", "features.1.running_var", "features.3.bias", "features.7.weight",
        "features.40.weight", "features.41.bias", "classifier.0.weight", "classifier.6.bias"})
    EXPECT_THAT(names, testing::Contains(name));
}

TEST(NameTable, HasADepthOf152) {
  MadeModel model{{.name = "resnet", .depth = 152, .variant = ModelConfig::Variant::imagenet},
                  image_columns(32)};
  auto names = names_of(name_table(WeightNames::torchvision, model.config, model.graph()));
  EXPECT_THAT(names, testing::Contains("layer3.35.conv3.weight"));
  EXPECT_THAT(names, testing::Not(testing::Contains("layer3.36.conv3.weight")));
}

// A dense layer (2, 8) behind an image of 2x2 pixels and 2 channels: columns C, H, W in the file.
TEST(NameTable, PutsFeaturesIntoTheOrderOfTheirPixels) {
  TensorPart part = channels_first("w", {1, 8}, {.rows = {}, .columns = PixelExtents{2, 2, 2}});
  std::vector<float> theirs = {0, 1, 2, 3, 10, 11, 12, 13}, ours(8), back(8);
  to_parameter(part, theirs, ours);
  EXPECT_EQ(ours, (std::vector<float>{0, 10, 1, 11, 2, 12, 3, 13}));
  to_file(part, ours, back);
  EXPECT_EQ(back, theirs);
}

// Features of the data that become an image have no order but the data's.
TEST(NameTable, RefusesAnImageOfFeatures) {
  MadeModel model{{.name = "layers",
                   .layers = {{"reshape", {{"shape", std::vector<int64_t>{2, 2, 3}}}, {}},
                              {"global_avg_pool", {}, {}},
                              {"dense", {{"units", std::string("classes")}}, {}}}},
                  {{"features", {12}}, {"labels", {}, DType::i32}}};
  EXPECT_NO_THROW(name_table(WeightNames::spire, model.config, model.graph()));
  EXPECT_THROW(name_table(WeightNames::pytorch, model.config, model.graph()), Error);
}

TEST(NameTable, AveragedWeightsGoOutIfThereAreAny) {
  MadeModel model{{.name = "linear"}, image_columns(4, 1)};
  Graph graph = model.graph();
  TrainingState state = made_state(graph);
  NameTable table = name_table(WeightNames::spire, model.config, graph);
  auto average = state.weights;
  for (NamedTensor& tensor : average)
    for (float& value : tensor.values) value += 1;
  state.optimizer.emplace_back(average_slot, average);
  for (bool averaged : {false, true}) {
    auto file = written(tensors_to_write(table, state, averaged), 7);
    EXPECT_EQ(file->tensors[0].values, (averaged ? average : state.weights)[0].values);
  }
  state.weights[0].name = "other";
  EXPECT_THROW(tensors_to_write(table, state, false), Error);
}

TEST(NameTable, UsualNames) {
  EXPECT_EQ(usual_names({.name = "gpt"}), WeightNames::huggingface);
  EXPECT_EQ(usual_names({.name = "llama"}), WeightNames::huggingface);
  EXPECT_EQ(usual_names({.name = "cnn"}), WeightNames::pytorch);
  EXPECT_EQ(usual_names({.name = "resnet", .variant = ModelConfig::Variant::imagenet}),
            WeightNames::torchvision);
}

}  // namespace
}  // namespace spire
