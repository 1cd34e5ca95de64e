// Writes layers as YAML, and the reference of all layers.
#include <algorithm>
#include <array>
#include <type_traits>

#include <fmt/ranges.h>

#include "engine/config/layer_types.h"
#include "engine/config/text.h"

namespace spire {

namespace {

template <typename Number>
requires std::is_arithmetic_v<Number> std::string text(Number value) {
  return fmt::format("{}", value);
}
std::string text(const std::string& word) {
  return yaml_word(word);
}
std::string text(const std::vector<int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

// An extent of one number has no brackets.
std::string text(const LayerKey& key, const LayerValue& value) {
  auto list = std::get_if<std::vector<int64_t>>(&value);
  if (key.kind == LayerKind::extent && list != nullptr && list->size() == 1)
    return text(list->front());
  auto names = key.kind == LayerKind::names ? std::get_if<std::string>(&value) : nullptr;
  if (names != nullptr && names_in(*names).size() > 1) return fmt::format("[{}]", *names);
  return std::visit([](const auto& held) { return text(held); }, value);
}

// "channels: 32", in the order of the table.
std::vector<std::string> values_text(const LayerConfig& layer) {
  std::vector<std::string> pairs;
  auto add = [&](const LayerKey& key) {
    auto given = layer.values.find(key.name);
    if (given != layer.values.end())
      pairs.push_back(fmt::format("{}: {}", key.name, text(key, given->second)));
  };
  const LayerType& type = *find_layer_type(layer.type);
  std::ranges::for_each(type.keys, add);
  for (const LayerKey& key : link_keys())
    if (find_layer_key(type, key.name) == &key) add(key);
  return pairs;
}

// "conv2d: {channels: 32, kernel: 5}", or the type alone.
std::string layer_text(const LayerConfig& layer) {
  std::vector<std::string> pairs = values_text(layer);
  if (!layer.layers.empty()) pairs.push_back("layers: " + layers_text(layer.layers));
  if (pairs.empty()) return layer.type;
  return fmt::format("{}: {{{}}}", layer.type, fmt::join(pairs, ", "));
}

// In the order of LayerKind.
constexpr std::array<std::string_view, 8> kind_names = {"true or false",
                                                        "integer",
                                                        "number",
                                                        "",
                                                        "integer or [height, width]",
                                                        "list of integers",
                                                        "name",
                                                        "name or list of names"};

// "integer >= 1, or classes"
std::string allowed(const LayerKey& key) {
  std::string words = fmt::format("{}", fmt::join(key.words, " | "));
  if (key.kind == LayerKind::word) return words;
  std::string range = key.range.text();
  return fmt::format("{}{}{}{}{}", kind_names[static_cast<size_t>(key.kind)],
                     range.empty() ? "" : " ", range, words.empty() ? "" : ", or ", words);
}

}  // namespace

std::string layers_text(const std::vector<LayerConfig>& layers) {
  std::vector<std::string> items;
  for (const LayerConfig& layer : layers) {
    std::string item = layer_text(layer);
    items.push_back(item == layer.type ? item : fmt::format("{{{}}}", item));
  }
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string layers_block(const std::vector<LayerConfig>& layers, size_t indent) {
  std::string block;
  for (const LayerConfig& layer : layers) {
    if (layer.layers.empty()) {
      block += fmt::format("{:{}}- {}\n", "", indent, layer_text(layer));
      continue;
    }
    // Below "- residual:" its keys are indented by 4, and the layers inside by 2 more.
    block += fmt::format("{:{}}- {}:\n", "", indent, layer.type);
    for (const std::string& pair : values_text(layer))
      block += fmt::format("{:{}}{}\n", "", indent + 4, pair);
    block += fmt::format("{:{}}layers:\n", "", indent + 4);
    block += layers_block(layer.layers, indent + 6);
  }
  return block;
}

namespace {

std::string key_help(const LayerKey& key) {
  std::string value = key.fallback ? text(key, *key.fallback) : "required";
  std::string start = fmt::format("{}: {}", key.name, value);
  return fmt::format("  {:<38} {}; {}{}\n", start, allowed(key), key.help,
                     key.is_main ? " (short form)" : "");
}

}  // namespace

std::string layer_help() {
  std::string help =
      "Layers of model.layers. Each is a word, a map of one key with a map of its own keys, or in\n"
      "short form with the value of its main key:\n"
      "  layers: [{conv2d: {channels: 32, padding: same}}, relu, flatten, {dense: classes}]\n"
      "Keys of every layer, by which others than neighbours are linked:\n";
  for (const LayerKey& key : link_keys()) help += key_help(key);
  // A line for each type, then one for each of its keys.
  for (const LayerType& type : layer_types()) {
    help += fmt::format("\n{:<40} {}\n", type.name, type.help);
    for (const LayerKey& key : type.keys) help += key_help(key);
    if (type.holds_layers) help += fmt::format("  {:<38} list of layers\n", "layers: required");
  }
  return help;
}

}  // namespace spire
