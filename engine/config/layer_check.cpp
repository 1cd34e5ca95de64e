// Checks layers: those read from YAML and those that a program made.
#include <algorithm>
#include <cctype>
#include <ranges>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/layer_types.h"
#include "engine/config/scalar.h"
#include "engine/config/synonyms.h"

namespace spire {

namespace {

void check_word(const LayerKey& key, const std::string& word) {
  if (std::ranges::count(key.words, word) > 0) return;
  fail(Category::config, "{}", unknown_word(word, key.words));
}

template <typename Number>
void check_range(const LayerKey& key, Number value) {
  if (key.range.contains(static_cast<double>(value))) return;
  fail(Category::config, "{} is out of range; it must be {}", value, key.range.text());
}

// Tells whether a value other than a word has the type of the kind.
bool fits(LayerKind kind, const LayerValue& value) {
  switch (kind) {
    case LayerKind::boolean:
      return std::holds_alternative<bool>(value);
    case LayerKind::integer:
      return std::holds_alternative<int64_t>(value);
    case LayerKind::number:
      return std::holds_alternative<double>(value);
    case LayerKind::word:
    case LayerKind::name:
    case LayerKind::names:
      return false;
    case LayerKind::extent:
    case LayerKind::integers:
      return std::holds_alternative<std::vector<int64_t>>(value);
  }
  return false;
}

// Names of layers are short words of letters, digits, _ and -, so that a list of them is one text.
void check_name(const std::string& name) {
  constexpr size_t longest = 64;
  auto is_letter = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  if (!name.empty() && name.size() <= longest && std::ranges::all_of(name, is_letter)) return;
  fail(Category::config,
       "'{}' is no name of a layer: 1 to {} letters, digits, underscores and dashes", excerpt(name),
       longest);
}

void check_names(const LayerKey& key, const std::string& text) {
  if (key.fallback && std::get<std::string>(*key.fallback) == text) return;
  if (key.kind == LayerKind::name && (text == previous_link || text == input_link))
    fail(Category::config, "'{}' already has a meaning in `from`; take another name", text);
  for (const std::string& name : key.kind == LayerKind::name ? std::vector{text} : names_in(text))
    check_name(name);
}

// An extent has one or two integers, the shape of `reshape` up to eight.
void check_list(const LayerKey& key, const std::vector<int64_t>& values) {
  for (int64_t value : values) check_range(key, value);
  size_t most = key.kind == LayerKind::extent ? 2 : 8;
  if (values.empty() || values.size() > most)
    fail(Category::config, "expected 1 to {} integers, got {}", most, values.size());
}

}  // namespace

const LayerType* find_layer_type(std::string_view name) {
  auto found = std::ranges::find(layer_types(), name, &LayerType::name);
  return found == layer_types().end() ? nullptr : &*found;
}

const LayerKey* find_layer_key(const LayerType& type, std::string_view name) {
  for (const std::vector<LayerKey>* keys : {&type.keys, &link_keys()}) {
    auto found = std::ranges::find(*keys, name, &LayerKey::name);
    if (found != keys->end()) return &*found;
  }
  return nullptr;
}

const LayerKey* main_key(const LayerType& type) {
  auto found = std::ranges::find(type.keys, true, &LayerKey::is_main);
  return found == type.keys.end() ? nullptr : &*found;
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (auto part : std::views::split(text, std::string_view(", ")))
    names.emplace_back(part.begin(), part.end());
  return names;
}

// A key that is not given has its default; a checked layer has all keys without one.
const LayerValue& layer_value(const LayerConfig& layer, std::string_view key) {
  if (auto given = layer.values.find(std::string(key)); given != layer.values.end())
    return given->second;
  const LayerType* type = find_layer_type(layer.type);
  const LayerKey* known = type != nullptr ? find_layer_key(*type, key) : nullptr;
  require(known != nullptr && known->fallback, "layer '{}' has no '{}'", layer.type, key);
  return *known->fallback;
}

// Words come first: keys of any kind may allow some, such as `same` for a padding.
void check_layer_value(const LayerKey& key, const LayerValue& value) {
  if (auto word = std::get_if<std::string>(&value)) {
    bool named = key.kind == LayerKind::name || key.kind == LayerKind::names;
    return named ? check_names(key, *word) : check_word(key, *word);
  }
  if (!fits(key.kind, value)) {
    fail(Category::config,
         "the value has a type that this key does not take; trainer --help-config lists the "
         "types");
  }
  if (auto whole = std::get_if<int64_t>(&value)) check_range(key, *whole);
  if (auto real = std::get_if<double>(&value)) check_range(key, *real);
  if (auto list = std::get_if<std::vector<int64_t>>(&value)) check_list(key, *list);
}

std::string layer_problem(const LayerConfig& layer) {
  const LayerType* type = find_layer_type(layer.type);
  if (type == nullptr) {
    std::vector<std::string> names;
    for (const LayerType& known : layer_types()) names.push_back(known.name);
    std::string near = meant_word(SynonymGroup::layers, layer.type, names);
    // The list of all names is long: it is shown only where there is nothing to suggest.
    return fmt::format("unknown layer '{}'{}", excerpt(layer.type),
                       near.empty() ? fmt::format("; must be one of: {}", fmt::join(names, ", "))
                                    : did_you_mean(near));
  }
  for (const LayerKey& key : type->keys) {
    if (!key.fallback && !layer.values.contains(key.name))
      return fmt::format("the key '{}' is missing ({})", key.name, key.help);
  }
  if (type->holds_layers && layer.layers.empty())
    return "the key 'layers' is missing (a list of layers)";
  if (!type->holds_layers && !layer.layers.empty())
    return fmt::format("{} does not take layers of its own; remove 'layers'", layer.type);
  return "";
}

void check_layers(const std::vector<LayerConfig>& layers, const std::string& path) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerConfig& layer = layers[i];
    std::string here = layer_path(path, i, layer.type);
    // From here on the type is known, and no key is missing.
    if (std::string text = layer_problem(layer); !text.empty())
      fail(Category::config, "{}: {}", here, text);
    for (const auto& [name, value] : layer.values) {
      const LayerKey* key = find_layer_key(*find_layer_type(layer.type), name);
      if (key == nullptr)
        fail(Category::config,
             "{}.{}: unknown key; trainer --help-config lists the keys of each layer", here, name);
      try {
        check_layer_value(*key, value);
      } catch (const Error& error) {
        fail(Category::config, "{}.{}: {}", here, name, error.what());
      }
    }
    check_layers(layer.layers, here + ".layers");
  }
}

int64_t count_layers(const std::vector<LayerConfig>& layers) {
  int64_t count = 0;
  for (const LayerConfig& layer : layers) {
    int64_t times = layer.type == "repeat" ? layer_value<int64_t>(layer, "times") : 1;
    // No product of counts that are each at most this large overflows.
    count = std::min(count + 1 + times * count_layers(layer.layers), max_layers + 1);
  }
  return count;
}

std::string layer_path(std::string_view list, size_t index, std::string_view type) {
  std::string path = fmt::format("{}[{}]", list, index);
  return type.empty() ? path : fmt::format("{}.{}", path, excerpt(type));
}

}  // namespace spire
