#include "engine/config/value.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <variant>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/scalar.h"

namespace spire {

namespace {

constexpr size_t max_list = 1024;  // entries; max_layers limits layers

[[noreturn]] void fail_missing(std::string_view expected) {
  fail(Category::config, "the value is missing; expected {}", expected);
}

void check_length(const YAML::Node& list) {
  if (list.size() > max_list)
    fail(Category::config, "the list has {} entries; at most {} are allowed", list.size(),
         max_list);
}

// Returns a plain text with commas as the list that it is without its brackets. A quoted one is a
// word, commas and all.
YAML::Node with_brackets(const YAML::Node& node) {
  if (!node.IsScalar() || node.Tag() != "?" || node.Scalar().find(',') == std::string::npos)
    return node;
  try {
    YAML::Node list = YAML::Load("[" + node.Scalar() + "]");
    // YAML takes a ? for the mark of a key. Maps that were meant have a blank behind the colon.
    auto is_map = [](const YAML::Node& entry) { return entry.IsMap(); };
    bool odd = std::any_of(list.begin(), list.end(), is_map) &&
               node.Scalar().find(": ") == std::string::npos;
    if (!odd) return list;
  } catch (const YAML::Exception&) {  // a bracket alone, or marks of YAML such as # and *
  }
  YAML::Node words = words_at_commas(node.Scalar());
  return words.IsSequence() ? words : node;
}

bool is_number(const YAML::Node& node) {
  try {
    parse_number(scalar(node, "", false));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Brackets may be left out.
template <typename T>
std::vector<T> read_list(const YAML::Node& given, std::string_view expected) {
  YAML::Node node = with_brackets(given);
  if (node.IsNull()) fail_missing(expected);
  if (std::is_arithmetic_v<T> && is_number(node)) return {read(node, T{})};
  if (!node.IsSequence()) fail(Category::config, "expected {}, got {}", expected, describe(node));
  check_length(node);
  std::vector<T> values;
  for (const auto& entry : node) values.push_back(read(entry, T{}));
  return values;
}

}  // namespace

YAML::Node words_at_commas(const std::string& text) {
  if (text.find_first_of("[]{}\"'\n") != text.npos) return {};
  YAML::Node words(YAML::NodeType::Sequence);
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    size_t first = word.find_first_not_of(" \t");
    if (first == word.npos) return {};
    words.push_back(word.substr(first, word.find_last_not_of(" \t") - first + 1));
    begin = end + 1;
  }
  return words;
}

const std::string& scalar(const YAML::Node& node, std::string_view expected, bool may_be_quoted) {
  if (node.IsNull()) fail_missing(expected);
  if (!node.IsScalar()) fail(Category::config, "expected {}, got {}", expected, describe(node));
  // yaml-cpp tags a plain scalar "?" and a quoted one "!"; any other tag was written by the user.
  const std::string& tag = node.Tag();
  if (!tag.empty() && tag != "?" && tag != "!") {
    fail(Category::config, "YAML tags are not supported; remove '{}'", excerpt(tag));
  }
  if (tag == "!" && !may_be_quoted) {
    fail(Category::config, "expected {}, got the quoted text '{}'; remove the quotes", expected,
         excerpt(node.Scalar()));
  }
  return node.Scalar();
}

bool read(const YAML::Node& node, bool) {
  return parse_boolean(scalar(node, "true or false", false));
}
int64_t read(const YAML::Node& node, int64_t) {
  return parse_integer(scalar(node, "an integer", false));
}
uint64_t read(const YAML::Node& node, uint64_t) {
  return parse_unsigned(scalar(node, "an integer >= 0", false));
}
double read(const YAML::Node& node, double) {
  return parse_number(scalar(node, "a finite number", false));
}
std::string read(const YAML::Node& node, const std::string&) {
  const std::string& text = scalar(node, "a word", true);
  if (text.empty()) fail(Category::config, "the value is empty; expected a word");
  // C functions would take the part before it for the whole path.
  if (text.find('\0') != text.npos)
    fail(Category::config, "the value contains a zero byte; remove it");
  return text;
}

std::vector<int64_t> read(const YAML::Node& node, const std::vector<int64_t>&) {
  return read_list<int64_t>(node, "a list of integers, such as [64, 32]");
}

std::vector<double> read(const YAML::Node& node, const std::vector<double>&) {
  return read_list<double>(node, "a list of numbers, such as [0.5, 0.25]");
}

// Reads a list of words.
std::vector<std::string> read(const YAML::Node& given, const std::vector<std::string>&) {
  YAML::Node node = with_brackets(given);
  if (node.IsSequence()) return read_list<std::string>(node, "a word or a list of words");
  return {read(node, std::string())};
}

std::vector<WeightFactor> read(const YAML::Node& node, const std::vector<WeightFactor>&) {
  constexpr std::string_view expected = "a map of patterns and factors, such as {\"stem.*\": 0.1}";
  if (node.IsNull()) fail_missing(expected);
  if (!node.IsMap()) fail(Category::config, "expected {}, got {}", expected, describe(node));
  check_length(node);
  std::vector<WeightFactor> factors;
  for (const auto& entry : node) {
    WeightFactor factor{read(entry.first, std::string()), read(entry.second, double{})};
    if (std::ranges::count(factors, factor.pattern, &WeightFactor::pattern) > 0)
      fail(Category::config, "'{}' is given twice; remove one of them", excerpt(factor.pattern));
    factors.push_back(std::move(factor));
  }
  return factors;
}

namespace {

// Reads {cuda:0: 8GiB} as cuda:0:8GiB.
std::string read_pair(const YAML::Node& node) {
  if (node.size() != 1)
    fail(Category::config,
         "expected a word or one device and its limit, such as {{cuda:0: 8GiB}}, got a map of {} "
         "keys; write a list of such maps",
         node.size());
  auto entry = node.begin();
  return read(entry->first, std::string()) + ":" + read(entry->second, std::string());
}

// Reads a list of words and pairs, or one of either.
std::vector<std::string> read_pairs(const YAML::Node& given) {
  YAML::Node node = with_brackets(given);
  if (node.IsMap()) return {read_pair(node)};
  if (!node.IsSequence()) return {read(node, std::string())};
  check_length(node);
  std::vector<std::string> words;
  for (const auto& entry : node)
    words.push_back(entry.IsMap() ? read_pair(entry) : read(entry, std::string()));
  return words;
}

// Reads {a: b, c: ""} as a:b and c:, and a list of such words as it is.
std::vector<std::string> read_map(const YAML::Node& node) {
  if (!node.IsMap()) return read(node, std::vector<std::string>());
  check_length(node);
  std::vector<std::string> words;
  for (const auto& entry : node)
    words.push_back(read(entry.first, std::string()) + ":" + scalar(entry.second, "a word", true));
  return words;
}

}  // namespace

std::string describe(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return node.IsScalar() ? fmt::format("'{}'", excerpt(node.Scalar())) : "nothing";
}

namespace {

// Optional fields have an `unset` meaning, so assign() handles null.
std::optional<int64_t> read(const YAML::Node& node, const std::optional<int64_t>&) {
  return spire::read(node, int64_t{});
}

// Numbers of seconds may be written as durations.
double read_number(const Field& field, const YAML::Node& node) {
  if (field.unit != "seconds") return spire::read(node, double{});
  return parse_duration(scalar(node, "a finite number", false));
}

template <typename Number>
void check_range(const Field& field, Number value) {
  if (field.range.contains(static_cast<double>(value))) return;
  fail(Category::config, "{} is out of range; it must be {}", value, field.range.text());
}

// A field with a word for 0 takes 0 only as that word.
int64_t read_integer(const Field& field, const YAML::Node& node) {
  if (!field.zero.empty() && node.IsScalar() && node.Scalar() == field.zero) return 0;
  int64_t value = spire::read(node, int64_t{});
  check_range(field, value);
  return value;
}

// One check for each type of field: words by their choices, numbers by their range.
void check(const Field& field, const std::string& word) {
  if (field.choices.empty() || std::ranges::count(field.choices, word) > 0) return;
  fail(Category::config, "{}", unknown_word(word, field.choices));
}

// A host program may cast any number to the enum.
void check(const Field& field, const EnumSlot& value) {
  if (value.index() < value.words().size()) return;
  fail(Category::config, "{}", unknown_word(fmt::format("{}", value.index()), field.choices));
}

void check(const Field&, bool) {}
void check(const Field& field, int64_t value) {
  if (value != 0 || field.zero.empty()) check_range(field, value);
}
void check(const Field& field, uint64_t value) {
  check_range(field, value);
}
void check(const Field& field, double value) {
  check_range(field, value);
}
void check(const Field& field, const std::optional<int64_t>& value) {
  if (value) check_range(field, *value);
}
void check(const Field& field, const WeightFactor& entry) {
  if (field.range.contains(entry.factor)) return;
  fail(Category::config, "the factor of '{}' is {}; it must be {}", excerpt(entry.pattern),
       entry.factor, field.range.text());
}
template <typename T>
void check(const Field& field, const std::vector<T>& values) {
  for (const T& value : values) check(field, value);
}
void check(const Field&, const std::vector<LayerConfig>& layers) {
  check_layers(layers, "");
}

void set_word(const Field& field, const YAML::Node& node, const EnumSlot& slot) {
  std::string word = spire::read(node, std::string());
  check(field, word);
  slot.set(static_cast<size_t>(std::ranges::find(slot.words(), word) - slot.words().begin()));
}

void expand_homes(const Slot& slot) {
  if (auto* const* path = std::get_if<std::string*>(&slot)) **path = expand_home(**path);
  if (auto* const* paths = std::get_if<std::vector<std::string>*>(&slot))
    for (std::string& path : **paths) path = expand_home(path);
}

}  // namespace

std::string assign(const Field& field, const YAML::Node& node, RunConfig& config) {
  // Works on a copy: `config` stays as it was if anything below throws.
  RunConfig changed = config;
  RunConfig defaults;
  bool unset = node.IsNull() && !field.unset.empty();
  // The type of the slot selects read() and the default.
  auto set = [&]<typename Pointer>(Pointer value) {
    if constexpr (std::is_same_v<Pointer, EnumSlot>)
      set_word(field, node, value);
    else if constexpr (std::is_same_v<Pointer, double*>)
      *value = read_number(field, node);
    else if constexpr (std::is_same_v<Pointer, std::vector<std::string>*>)
      *value = unset         ? *std::get<Pointer>(field.slot(defaults))
               : field.pairs ? read_pairs(node)
               : field.maps  ? read_map(node)
                             : spire::read(node, *value);
    else if constexpr (std::is_same_v<Pointer, int64_t*>)
      *value = unset ? *std::get<Pointer>(field.slot(defaults)) : read_integer(field, node);
    else
      *value = unset ? *std::get<Pointer>(field.slot(defaults)) : read(node, *value);
  };
  std::visit(set, field.slot(changed));
  if (field.is_path) expand_homes(field.slot(changed));
  // The note is about the form that was written, which check_value() may expand.
  std::string note = field.note != nullptr ? field.note(changed) : "";
  check_value(field, changed);
  config = std::move(changed);
  return note;
}

void check_value(const Field& field, RunConfig& config) {
  std::visit([&](auto value) { check(field, *value); }, field.slot(config));
  if (field.settle != nullptr) field.settle(config);
}

}  // namespace spire
