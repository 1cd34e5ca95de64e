#include "engine/config/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "engine/base/fail.h"
#include "engine/config/layer_types.h"

namespace spire {

namespace {

// Tells whether a word consists of characters without a meaning in YAML, and so needs no quotes.
bool is_plain(const std::string& word) {
  constexpr std::string_view plain_characters = "_./-";
  auto harmless = [&](unsigned char c) {
    return std::isalnum(c) != 0 ||
           plain_characters.find(static_cast<char>(c)) != plain_characters.npos;
  };
  constexpr std::array yaml_nulls = {"null", "Null", "NULL"};
  return !word.empty() && word.front() != '-' && std::ranges::count(yaml_nulls, word) == 0 &&
         std::ranges::all_of(word, harmless);
}

std::string yaml(const std::string& word) {
  return yaml_word(word);
}
std::string yaml(const EnumSlot& value) {
  return yaml_word(value.word());
}
// {} writes the fewest digits that read back as the same number.
template <typename Number>
requires std::is_arithmetic_v<Number> std::string yaml(Number value) {
  return fmt::format("{}", value);
}
std::string yaml(const std::optional<int64_t>& value) {
  return value ? yaml(*value) : "null";
}

template <typename T>
std::string yaml(const std::vector<T>& values) {
  std::vector<std::string> words;
  for (const T& value : values) words.push_back(yaml(value));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

// A colon inside a word, as in cuda:0, needs no quotes in YAML.
std::string list_entry(const std::string& word) {
  size_t colon = word.find(':');
  bool plain =
      colon != word.npos && is_plain(word.substr(0, colon)) && is_plain(word.substr(colon + 1));
  return plain ? word : yaml(word);
}

std::string yaml(const std::vector<std::string>& words) {
  std::vector<std::string> entries;
  for (const std::string& word : words) entries.push_back(list_entry(word));
  return words.size() == 1 ? entries.front() : fmt::format("[{}]", fmt::join(entries, ", "));
}

std::string yaml(const std::vector<WeightFactor>& factors) {
  std::vector<std::string> entries;
  for (const auto& [pattern, factor] : factors)
    entries.push_back(fmt::format("{}: {}", yaml_word(pattern), yaml(factor)));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string yaml(const std::vector<LayerConfig>& layers) {
  return layers_text(layers);
}

// An extent of one number has no brackets.
std::string yaml(const LayerKey& key, const LayerValue& value) {
  auto list = std::get_if<std::vector<int64_t>>(&value);
  if (key.kind == LayerKind::extent && list != nullptr && list->size() == 1)
    return yaml(list->front());
  auto names = key.kind == LayerKind::names ? std::get_if<std::string>(&value) : nullptr;
  if (names != nullptr && names_in(*names).size() > 1) return fmt::format("[{}]", *names);
  return std::visit([](const auto& held) { return yaml(held); }, value);
}

// "channels: 32", in the order of the table.
std::vector<std::string> values_text(const LayerConfig& layer) {
  std::vector<std::string> pairs;
  auto add = [&](const LayerKey& key) {
    auto given = layer.values.find(key.name);
    if (given != layer.values.end())
      pairs.push_back(fmt::format("{}: {}", key.name, yaml(key, given->second)));
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

// Returns one line per layer, after `indent` blanks. The layers inside a layer follow its line.
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

// Returns the field's layers; null for a field of another type and for an empty list.
const std::vector<LayerConfig>* layers_of(const Field& field, RunConfig& config) {
  Slot slot = field.slot(config);
  auto layers = std::get_if<std::vector<LayerConfig>*>(&slot);
  return layers == nullptr || (*layers)->empty() ? nullptr : *layers;
}

// Tells whether to leave the key out: it is not used here and has its default.
bool silent(const Field& field, const RunConfig& config) {
  return (unused(field, config) || used_by_auto(field, config)) &&
         value_text(field, config) == value_text(field, RunConfig());
}

// Returns the lines that open `section` and its outer sections, except those that `open` is in.
std::string headings(std::string_view section, std::string_view open) {
  auto within = [&](std::string_view outer) {
    return open == outer || (open.starts_with(outer) && open[outer.size()] == '.');
  };
  if (section.empty() || within(section)) return "";
  auto depth = static_cast<size_t>(std::ranges::count(section, '.'));
  return headings(section_of(section), open) +
         fmt::format("{:{}}{}:\n", "", 2 * depth, leaf_of(section));
}

// Writes one line a key, and one a layer. `comment` follows each value. Leaves out the keys in
// `but`.
std::string render(RunConfig config, const std::set<std::string>& but,
                   const std::function<std::string(const Field&)>& comment) {
  std::string text;
  std::string open;
  for (const Field& field : schema()) {
    if (silent(field, config) || but.contains(field.path)) continue;
    std::string section(section_of(field.path));
    auto depth = static_cast<size_t>(std::ranges::count(field.path, '.'));
    text += headings(section, open);
    open = section;
    auto layers = layers_of(field, config);
    std::string line = fmt::format("{:{}}{}:", "", 2 * depth, leaf_of(field.path));
    if (layers == nullptr) line += fmt::format(" {}", value_text(field, config));
    std::string remark = comment(field);
    text += remark.empty() ? line + "\n" : fmt::format("{:<36} # {}\n", line, remark);
    if (layers != nullptr) text += layers_block(*layers, 2 * depth + 2);
  }
  return text;
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

std::string yaml_word(const std::string& word) {
  if (is_plain(word)) return word;
  std::string quoted = "\"";
  for (char c : word) {
    auto code = static_cast<unsigned char>(c);
    if (code < 32 || code == 127) {
      quoted += fmt::format("\\x{:02x}", code);
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string key_text(const std::string& key, const RunConfig& config) {
  const Field* field = find_field(key);
  require(field != nullptr, "there is no key {}", key);
  return value_text(*field, config);
}

std::string value_text(const Field& field, const RunConfig& config) {
  // batch_size follows from global_batch.
  bool derived = config.batch_size != 0 && config.global_batch;
  if (field.path == "batch_size" && derived) return "null";
  RunConfig copy = config;
  Slot slot = field.slot(copy);
  auto integer = std::get_if<int64_t*>(&slot);
  if (integer != nullptr && **integer == 0 && !field.zero.empty()) return field.zero;
  return std::visit([](auto value) { return yaml(*value); }, slot);
}

std::string top_level_value(const std::string& yaml, const std::string& key) {
  try {
    YAML::Node value = YAML::Load(yaml)[key];
    return value && value.IsScalar() ? value.Scalar() : "";
  } catch (const YAML::Exception&) {
    return "";
  }
}

std::string to_yaml(const RunConfig& config, const std::set<std::string>& but) {
  return render(config, but, [](const Field&) { return std::string(); });
}

std::string to_annotated_yaml(const ResolvedConfig& resolved) {
  return render(resolved.config, {}, [&](const Field& field) {
    std::string source = resolved.source.at(field.path);
    // Values that are found only when the run starts: the comment says what null stands for.
    bool open = value_text(field, resolved.config) == "null";
    return open ? fmt::format("{}: {}", source, field.unset) : source;
  });
}

namespace {

// What a field takes, in the order of the alternatives of Slot.
constexpr std::array<std::string_view, std::variant_size_v<Slot>> type_names = {
    "true or false",
    "integer",
    "integer >= 0",
    "number",
    "word",
    "word",
    "integer",
    "list of integers",
    "list of numbers",
    "word or list of words",
    "map of patterns and numbers",
    "list of layers, see below"};

// "integer in [1, 1024], threads", "sgd | adam | adamw"
std::string allowed(const Field& field) {
  if (!field.choices.empty()) return fmt::format("{}", fmt::join(field.choices, " | "));
  RunConfig config;
  std::string text(type_names[field.slot(config).index()]);
  if (field.maps) text = "map of names";
  if (!field.range.text().empty()) text += fmt::format(" {}", field.range.text());
  if (!field.unit.empty()) text += fmt::format(", {}", field.unit);
  if (!field.zero.empty()) text += ", or " + field.zero;
  return field.unset.empty() ? text : fmt::format("{}; null: {}", text, field.unset);
}

// "; only with optimizer.name adam, adamw, lamb"
std::string users(const Field& field) {
  if (field.used_by.key.empty()) return "";
  return fmt::format("; only with {} {}", field.used_by.key, fmt::join(field.used_by.words, ", "));
}

std::string_view first_word(std::string_view path) {
  return path.substr(0, path.find('.'));
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

std::string key_help(const LayerKey& key) {
  std::string value = key.fallback ? yaml(key, *key.fallback) : "required";
  std::string start = fmt::format("{}: {}", key.name, value);
  return fmt::format("  {:<38} {}; {}{}\n", start, allowed(key), key.help,
                     key.is_main ? " (short form)" : "");
}

// Each layer's keys, defaults, allowed values and meanings.
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

}  // namespace

std::string config_help() {
  std::string text =
      "Keys of a run's config. In a file they are nested maps; on the command line: "
      "key.path=value.\n";
  RunConfig defaults;
  std::string_view group;
  for (const Field& field : schema()) {
    // An empty line before each section and between a section and the plain keys after it.
    std::string_view next = section_of(field.path).empty() ? "" : first_word(field.path);
    if (&field == &schema().front() || next != group) text += "\n";
    group = next;
    text += fmt::format("{:<40} {}\n    {}\n",
                        fmt::format("{}: {}", field.path, value_text(field, defaults)),
                        allowed(field), field.help + users(field));
  }
  return text + "\n" + layer_help();
}

}  // namespace spire
