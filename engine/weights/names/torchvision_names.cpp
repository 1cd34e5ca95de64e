// torchvision's ResNet, VGG and VisionTransformer.
#include <charconv>
#include <map>

#include "engine/base/fail.h"
#include "engine/weights/names/known_names.h"

namespace spire {
namespace {

// Returns torchvision's name of a layer, of which Spire's is given; empty if it has none.
using LayerNames = std::function<std::string(const std::string& layer)>;

NameTable rename_all(const Graph& graph, const LayerNames& layer_names) {
  NameTable table{
      .names = WeightNames::torchvision, .parameters = {}, .without_use = {"*num_batches_tracked"}};
  auto orders = feature_orders(graph);
  for (const TensorEntry& own : own_tensors(graph)) {
    size_t dot = own.name.rfind('.');
    std::string layer = layer_names(own.name.substr(0, dot));
    require(!layer.empty(), "torchvision has no counterpart of {}", own.name);
    std::string name =
        fmt::format("{}.{}", layer, state_dict_word(std::string_view(own.name).substr(dot + 1)));
    table.parameters.push_back(
        {own.name, own.shape, {channels_first(name, own.shape, orders[own.name])}});
  }
  return table;
}

// Takes "<word><number>." from the front of a layer's name and returns the number; 0 if another
// name stands there.
int64_t take_number(std::string_view& layer, std::string_view word) {
  int64_t number = 0;
  if (!layer.starts_with(word)) return 0;
  const char* digits = layer.data() + word.size();
  auto [end, error] = std::from_chars(digits, layer.data() + layer.size(), number);
  if (error != std::errc{} || end == layer.data() + layer.size() || *end != '.') return 0;
  layer.remove_prefix(static_cast<size_t>(end + 1 - layer.data()));
  return number;
}

std::string find_name(const std::map<std::string_view, std::string_view>& names,
                      std::string_view layer) {
  auto found = names.find(layer);
  return found == names.end() ? "" : std::string(found->second);
}

// torchvision.models.resnet, which also holds for small images with three stages: its strides, its
// batch norms (epsilon 1e-5) and its shortcuts by projection are Spire's.
std::string resnet_layer(std::string_view layer) {
  int64_t stage = take_number(layer, "stage"), block = take_number(layer, "block");
  if (stage == 0)
    return find_name({{"stem.conv", "conv1"}, {"stem.norm", "bn1"}, {"head", "fc"}}, layer);
  std::string name = find_name({{"a.conv", "conv1"},
                                {"a.norm", "bn1"},
                                {"b.conv", "conv2"},
                                {"b.norm", "bn2"},
                                {"c.conv", "conv3"},
                                {"c.norm", "bn3"},
                                {"shortcut.conv", "downsample.0"},
                                {"shortcut.norm", "downsample.1"}},
                               layer);
  return name.empty() ? "" : fmt::format("layer{}.{}.{}", stage, block - 1, name);
}

NameTable resnet_names(const ModelConfig& model, const Graph& graph) {
  if (model.shortcut == ModelConfig::Shortcut::identity)
    fail(Category::config,
         "torchvision's ResNets have shortcuts by projection, but model.shortcut is identity; use "
         "names: pytorch or spire");
  return rename_all(graph, resnet_layer);
}

// torchvision.models.vgg: `features` counts convolutions, norms, relus and poolings. It pools to
// 7x7 pixels before the dense layers, which changes nothing where there are as many.
NameTable vgg_names(const ModelConfig& model, const Graph& graph) {
  bool norm = model.normalization == ModelConfig::Normalization::batch_norm, large = false;
  std::map<std::string, std::string> names = {
      {"dense1", "classifier.0"}, {"dense2", "classifier.3"}, {"head", "classifier.6"}};
  int64_t place = 0;
  char group = '1';
  for (const TensorEntry& own : own_tensors(graph)) {  // in the order of the layers: conv1_1, ...
    if (own.name == "dense1.weight") large = own.shape[1] == 512 * 7 * 7;
    std::string layer = own.name.substr(0, own.name.rfind('.'));
    if (!own.name.starts_with("conv") || names.contains(layer) || layer.ends_with(".norm"))
      continue;
    if (layer[4] != group) ++place;  // the pooling between two groups
    group = layer[4];
    names[layer] = fmt::format("features.{}", place);
    if (norm) names[layer + ".norm"] = fmt::format("features.{}", place + 1);
    place += norm ? 3 : 2;
  }
  if (!large)
    fail(Category::config,
         "torchvision's VGGs have dense layers over 7x7 pixels, as of images of 224 to 255; for "
         "others use names: pytorch or spire");
  return rename_all(graph, [&](const std::string& layer) { return names[layer]; });
}

// torchvision.models.vision_transformer.
std::string vit_layer(std::string_view layer) {
  int64_t block = take_number(layer, "block");
  if (block == 0)
    return find_name({{"patches", "conv_proj"},
                      {"class_token", "class_token"},
                      {"positions", "encoder.pos_embedding"},
                      {"norm", "encoder.ln"},
                      {"head", "heads.head"}},
                     layer);
  std::string name = find_name({{"norm1", "ln_1"},
                                {"norm2", "ln_2"},
                                {"attention.qkv", "self_attention"},
                                {"attention.project", "self_attention.out_proj"},
                                {"mlp.up", "mlp.0"},
                                {"mlp.down", "mlp.3"}},
                               layer);
  return name.empty() ? "" : fmt::format("encoder.layers.encoder_layer_{}.{}", block - 1, name);
}

NameTable torchvision_vit_names(const Graph& graph) {
  float epsilon = transformer_facts(graph).epsilon;
  if (epsilon != 1e-6f)
    fail(Category::config,
         "torchvision's vision transformers have 1e-06 in their layer norms, but model.epsilon is "
         "{:.6g}; leave it out, or use other names",
         epsilon);
  NameTable table = rename_all(graph, vit_layer);
  for (NamedParameter& parameter : table.parameters) {
    TensorPart& part = parameter.parts[0];
    if (parameter.name.find(".attention.qkv.") != std::string::npos)
      part.name.insert(part.name.rfind('.') + 1, "in_proj_");
    if (parameter.name == "class_token.weight" || parameter.name == "positions.weight") {
      part.name.resize(part.name.rfind('.'));
      part.shape = {1, parameter.shape[0], parameter.shape[1]};
    }
  }
  return table;
}

}  // namespace

NameTable torchvision_names(const ModelConfig& model, const Graph& graph) {
  if (model.name == "resnet") return resnet_names(model, graph);
  if (model.name == "vgg") return vgg_names(model, graph);
  if (model.name == "vit") return torchvision_vit_names(graph);
  fail(Category::config,
       "torchvision has no model like model.name: {}, only resnet, vgg and vit; use names: pytorch "
       "or spire",
       model.name);
}

}  // namespace spire
