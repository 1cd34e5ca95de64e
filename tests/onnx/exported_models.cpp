#include "tests/onnx/exported_models.h"

#include <cmath>

#include <spire/load_config.h>

#include "engine/base/random_numbers.h"
#include "engine/config/text.h"
#include "engine/data/dataset.h"
#include "models/model.h"

namespace spire {
namespace {

using Words = std::vector<std::string>;

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A few samples of this shape, in 5 classes.
Words made_data(const std::string& kind, const std::string& shape, const Words& more) {
  return with(
      {"data.name=synthetic", "data.synthetic.kind=" + kind, "data.synthetic.shape=" + shape,
       "data.synthetic.classes=5", "data.synthetic.samples=24", "data.synthetic.test_samples=6",
       "devices=cpu", "tower_threads=1", "batch_size=4", "steps=3", "eval.every_epochs=0"},
      more);
}
Words images(const std::string& shape, const Words& more) {
  return made_data("images", shape, more);
}

const Words attention = {"model.blocks=2", "model.width=16", "model.heads=2"};

// Every layer that no other model has.
const char* const image_layers =
    "model.layers=[conv2d: {channels: 6, kernel: 3, dilation: 2, padding: 2}, batch_norm, "
    "leaky_relu: {slope: 0.2}, conv2d: {channels: 6, kernel: [1, 3], groups: 3, padding: [0, 1]}, "
    "residual: {layers: [conv2d: {channels: 8, kernel: 3, stride: 2, padding: 1}, sigmoid]}, "
    "resize: {factor: [2, 3], kind: bilinear}, conv_transpose2d: {channels: 4, kernel: 3, stride: "
    "2, padding: 1, bias: false}, gelu: {form: tanh}, avg_pool2d: {kernel: 3, padding: 1}, "
    "dense: {units: 7}, tanh, flatten, batch_norm, dense: {units: classes, bias: false}]";
const char* const sequence_layers =
    "model.layers=[reshape: {shape: [12, 9]}, batch_norm, dense: {units: 8}, positions, "
    "transformer_block: {heads: 2}, residual: {layers: [layer_norm, attention: {heads: 4}]}, gelu, "
    "transformer_block: {heads: 4, kv_heads: 2, norm: rms_norm, mlp: swiglu, bias: false}, silu, "
    "residual: {layers: [rms_norm, attention: {heads: 2, rope_theta: 100, kv_heads: 1}]}, "
    "dense: {units: 16}, swiglu, "
    "global_avg_pool, dense: {units: classes}]";
const char* const linked_layers =
    "model.layers=[conv2d: {channels: 6, padding: 1, name: stem, activation: relu}, group_norm: 3, "
    "conv2d: {channels: 2, kernel: 1}, concat: [input, stem, previous], group_norm: 1, "
    "{conv2d: {channels: 6, kernel: 1}}, add: [stem, previous], flatten, dense: classes]";
const char* const recurrent_layers =
    "model.layers=[reshape: [12, 9], conv1d: {channels: 6, padding: 1, stride: 2}, group_norm: 2, "
    "lstm: 5, gru: {units: 4, name: g}, lstm: {units: 3, output: last, from: g}, dense: classes]";

}  // namespace

void PrintTo(const ExportCase& model, std::ostream* out) {
  *out << model.name;
}

const std::vector<ExportCase>& export_cases() {
  static const std::vector<ExportCase> cases = {
      {"linear", images("[5,6,3]", {"model.name=linear"})},
      {"linear_grey", images("[5,6,1]", {"model.name=linear"})},
      {"mlp", images("[5,6,3]", {"model.name=mlp", "model.hidden=[16]"})},
      {"lenet", images("[28,28,1]", {"model.name=lenet"})},
      {"cnn", images("[12,10,3]", {"model.name=cnn", "model.channels=[4,8]", "model.hidden=[16]",
                                   "model.normalization=batch_norm"})},
      {"resnet", images("[12,12,3]", {"model.name=resnet", "model.depth=8"})},
      {"resnet_identity",
       images("[13,13,3]", {"model.name=resnet", "model.depth=8", "model.shortcut=identity"})},
      {"resnet_imagenet",
       images("[32,32,3]", {"model.name=resnet", "model.variant=imagenet", "model.depth=18"})},
      {"vgg",
       images("[32,32,3]", {"model.name=vgg", "model.depth=11", "model.normalization=batch_norm"})},
      {"unet", images("[13,10,3]", {"model.name=unet", "model.channels=[4,8,8]"})},
      {"unet_resize",
       images("[13,10,3]", {"model.name=unet", "model.channels=[4,8]", "model.upsample=resize",
                            "model.output_activation=sigmoid"})},
      {"autoencoder", images("[13,11,3]", {"model.name=autoencoder", "model.channels=[4,8]",
                                           "model.normalization=batch_norm", "model.hidden=[9]"})},
      {"gpt", made_data("tokens", "[12]", with({"model.name=gpt"}, attention))},
      {"gpt_long",
       made_data("tokens", "[12]", with({"model.name=gpt", "model.context=20"}, attention))},
      {"llama", made_data("tokens", "[12]",
                          with({"model.name=llama", "model.kv_heads=1", "model.mlp_width=24",
                                "model.rope_theta=500"},
                               attention))},
      {"llama_tied",
       made_data("tokens", "[12]", with({"model.name=llama", "model.tied_head=true"}, attention))},
      {"vit", images("[12,8,3]", with({"model.name=vit", "model.patch=4"}, attention))},
      {"layers_of_images", images("[9,7,3]", {image_layers})},
      {"layers_of_sequences", images("[6,6,3]", {sequence_layers})},
      {"layers_with_links", images("[7,6,3]", {linked_layers})},
      {"layers_that_recur", images("[6,6,3]", {recurrent_layers})},
  };
  return cases;
}

namespace {

// Numbers of a stream of its own for each tensor, around its initial values.
NamedTensor random_tensor(const Tensor& tensor, uint64_t seed) {
  NamedTensor made{tensor.name, tensor.spec.shape, {}};
  made.values.resize(static_cast<size_t>(tensor.spec.shape.elements()));
  tensor.initialize(RandomStream(seed, Purpose::generate), 0, made.values);
  std::vector<float> noise = random_numbers(std::ssize(made.values), seed + 1000);
  for (size_t i = 0; i < noise.size(); ++i) made.values[i] += 0.1f * noise[i];
  // A variance is positive.
  if (tensor.name.ends_with("running_var"))
    for (float& value : made.values) value = std::abs(value) + 0.1f;
  return made;
}

}  // namespace

ModelToExport made_model(const Words& words) {
  ModelToExport made;
  ResolvedConfig resolved = parse_config({}, words);
  made.config = resolved.config;
  made.spec = open_dataset(made.config.data, {}).train->spec();
  Graph graph = build_model(made.config.model, made.config.loss,
                            {.columns = made.spec.columns, .classes = made.spec.classes}, false);
  made.state.config_yaml = to_yaml(made.config);
  made.state.data_spec = to_text(made.spec);
  made.state.step = 3;
  uint64_t seed = 1;
  for (Value value : graph.values_of(Role::parameter))
    made.state.weights.push_back(random_tensor(graph.tensor(value), seed++));
  for (Value value : graph.values_of(Role::state))
    made.state.states.push_back(random_tensor(graph.tensor(value), seed++));
  return made;
}

std::vector<float> random_numbers(int64_t count, uint64_t seed) {
  std::vector<float> numbers(static_cast<size_t>(count));
  normal_numbers(RandomStream(seed, Purpose::generate), 0, numbers);
  return numbers;
}

std::vector<int32_t> random_tokens(int64_t count, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<int32_t>((i * i + 3 * i + 1) % vocabulary));
  return tokens;
}

}  // namespace spire
