// trainer models: a table of the models, with their keys, and sizes for an example input.
#include <algorithm>
#include <iterator>

#include <fmt/ranges.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/schema.h"
#include "engine/config/transformer_sizes.h"
#include "engine/observe/formatting.h"
#include "models/model.h"
#include "tools/commands.h"
#include "tools/output/streams.h"

namespace spire {

namespace {

// A size of a model: keys, and the input for which its parameters are counted. Models without a
// row have those of their defaults.
struct ModelExample {
  std::string name;
  std::vector<std::string> keys = {};
  std::vector<int64_t> image = {32, 32, 3};  // H, W, C
  int64_t classes = 10;
};

std::vector<ModelExample> all_examples() {
  const std::vector<int64_t> small = {28, 28, 1}, large = {224, 224, 3};
  std::vector<ModelExample> table = {
      {"linear", {}, small},
      {"mlp", {}, small},
      {"lenet", {}, small},
      {"cnn", {}, small},
      {"resnet", {"depth=20"}},
      {"resnet", {"depth=56"}},
      {"resnet", {"variant=imagenet", "depth=18"}, large, 1000},
      {"resnet", {"variant=imagenet", "depth=50"}, large, 1000},
      {"vgg", {"depth=11"}},
      {"vgg", {"depth=16"}},
      {"autoencoder", {}, small},
  };
  // Those of texts do not read images, and are counted for texts.
  for (const std::string& name : model_names())
    if (const TransformerFamily* family = find_transformer_family(name))
      for (const NamedSize& each : family->sizes)
        table.push_back({name, {fmt::format("size={}", each.name)}, large, 1000});
  return table;
}

const std::vector<ModelExample>& examples() {
  static const std::vector<ModelExample> table = all_examples();
  return table;
}

SampleSpec image_input(const ModelExample& example) {
  std::vector<Column> columns = {{"images", Shape(example.image)}, {"labels", {}, DType::i32}};
  return {.columns = columns, .classes = example.classes};
}

SampleSpec token_input() {
  constexpr int64_t length = 1024, vocabulary = 50257;  // of GPT-2
  std::vector<Column> columns = {{"tokens", {length}, DType::i32},
                                 {"targets", {length}, DType::i32}};
  return {.columns = columns, .classes = vocabulary};
}

SampleSpec input_of(const ModelConfig& model, const ModelExample& example) {
  SampleSpec images = image_input(example);
  try {
    task_of(model, images.columns);
    return images;
  } catch (const Error&) {
    return token_input();
  }
}

// Of trained numbers, without running statistics.
int64_t count_parameters(const ModelConfig& model, const SampleSpec& data) {
  Graph graph = build_model(model, {}, {.columns = data.columns, .classes = data.classes}, true);
  int64_t count = 0;
  for (Value value : graph.values_of(Role::parameter)) count += graph.spec(value).shape.elements();
  return count;
}

std::string input_text(const SampleSpec& input) {
  const Column& first = input.columns.front();
  return fmt::format("{} {}, {} {}", first.name, to_string(first.shape), count_text(input.classes),
                     first.name == "tokens" ? "words" : "classes");
}

// Keys that only models of this name use.
std::string keys_text(const std::string& name) {
  std::vector<std::string_view> keys;
  for (const Field& field : schema())
    if (field.used_by.key == "model.name" && std::ranges::count(field.used_by.words, name) > 0)
      keys.push_back(leaf_of(field.path));
  return keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", "));
}

void add_rows(const std::string& name, TextTable& table) {
  std::vector<ModelExample> own;
  std::ranges::copy_if(examples(), std::back_inserter(own),
                       [&](const ModelExample& example) { return name == example.name; });
  if (own.empty()) own.push_back({name});
  for (const ModelExample& example : own) {
    std::vector<std::string> words = {"model.name=" + name};
    for (const std::string& key : example.keys) words.push_back("model." + key);
    ModelConfig model = parse_config({}, words).config.model;
    SampleSpec input = input_of(model, example);
    table.push_back({name, fmt::format("{}", fmt::join(example.keys, " ")), input_text(input),
                     count_text(count_parameters(model, input))});
  }
}

}  // namespace

int run_models(const Arguments&) {
  TextTable sizes = {{"model", "sizes", "input", "parameters"}}, keys;
  for (const std::string& name : model_names()) {
    bool listed = name == "layers";
    keys.push_back({name, (listed ? "layers: a list of layers; " : "") + keys_text(name)});
    if (!listed) add_rows(name, sizes);
  }
  Sections sections;
  sections.add("sizes", sizes);
  sections.add("keys", keys);
  result_text(sections.text() +
              "\nAll keys begin with model., and have defaults: trainer --help-config\n");
  return 0;
}

}  // namespace spire
