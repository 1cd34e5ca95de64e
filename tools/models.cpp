// trainer models: a table of the models, with their keys, and sizes for an example input.
#include <algorithm>
#include <iterator>

#include <fmt/ranges.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/config/schema.h"
#include "engine/config/transformer_sizes.h"
#include "engine/observe/formatting.h"
#include "models/model.h"
#include "tools/commands.h"
#include "tools/output/streams.h"

namespace spire::tool {

namespace {

// A size of a model: keys, and the input for which its parameters are counted. Models without a
// row have those of their defaults.
struct ModelExample {
  std::string_view name;
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
  for (const TransformerFamily& family : transformer_families)
    for (const NamedSize& each : family.sizes) {
      std::vector<std::string> keys = {fmt::format("size={}", each.name)};
      bool text = family.model != "vit";
      table.push_back(text ? ModelExample{family.model, keys}
                           : ModelExample{family.model, keys, large, 1000});
    }
  return table;
}

const std::vector<ModelExample>& examples() {
  static const std::vector<ModelExample> table = all_examples();
  return table;
}

ModelInput image_input(const ModelExample& example) {
  std::vector<Column> columns = {{"images", Shape(example.image)}, {"labels", {}, DType::i32}};
  return {.columns = columns, .classes = example.classes};
}

ModelInput token_input() {
  constexpr int64_t length = 1024, vocabulary = 50257;  // of GPT-2
  std::vector<Column> columns = {{"tokens", {length}, DType::i32},
                                 {"targets", {length}, DType::i32}};
  return {.columns = columns, .classes = vocabulary};
}

bool takes(const ModelConfig& model, const ModelInput& input) {
  try {
    task_of(model, input.columns);
    return true;
  } catch (const Error&) {
    return false;
  }
}

ModelInput input_of(const ModelConfig& model, const ModelExample& example) {
  ModelInput images = image_input(example);
  return takes(model, images) ? images : token_input();
}

std::string input_text(const ModelInput& input) {
  const Column& first = input.columns.front();
  return fmt::format("{} {}, {} {}", first.name, to_string(first.shape), count_text(input.classes),
                     first.name == "tokens" ? "words" : "classes");
}

// Parameters alone, without running statistics.
int64_t parameters_of(const ModelConfig& model, const ModelInput& input) {
  Graph graph = build_model(model, {}, input, true);
  int64_t count = 0;
  for (Value value : graph.values_of(Role::parameter)) count += graph.spec(value).shape.elements();
  return count;
}

// The keys of a model: those of the schema that it uses.
std::string keys_of(const std::string& name) {
  std::vector<std::string> keys;
  for (const Field& field : schema())
    if (field.used_by.key == "model.name" && std::ranges::count(field.used_by.words, name) > 0)
      keys.emplace_back(leaf_of(field.path));
  return keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", "));
}

void add_rows(const std::string& name, TextTable& table) {
  std::vector<ModelExample> own;
  std::ranges::copy_if(examples(), std::back_inserter(own),
                       [&](const ModelExample& example) { return name == example.name; });
  if (own.empty()) own.push_back({name.c_str()});
  for (const ModelExample& example : own) {
    std::vector<std::string> words = {"model.name=" + name};
    for (const std::string& key : example.keys) words.push_back("model." + key);
    ModelConfig model = parse_config({}, words).config.model;
    ModelInput input = input_of(model, example);
    table.push_back({name, fmt::format("{}", fmt::join(example.keys, " ")), input_text(input),
                     count_text(parameters_of(model, input))});
  }
}

}  // namespace

int run_models(const Arguments&) {
  TextTable sizes = {{"model", "sizes", "input", "parameters"}}, keys;
  for (const std::string& name : model_names()) {
    bool listed = name == "layers";
    keys.push_back({name, (listed ? "layers: a list of layers; " : "") + keys_of(name)});
    if (!listed) add_rows(name, sizes);
  }
  Sections sections;
  sections.add("sizes", sizes);
  sections.add("keys", keys);
  print_result("{}\nAll keys begin with model., and have defaults: trainer --help-config\n",
               sections.text());
  return 0;
}

}  // namespace spire::tool
