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

std::string yaml(const std::vector<LrFactor>& factors) {
  std::vector<std::string> entries;
  for (const auto& [pattern, factor] : factors)
    entries.push_back(fmt::format("{}: {}", yaml_word(pattern), yaml(factor)));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string yaml(const std::vector<LayerConfig>& layers) {
  return layers_text(layers);
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
