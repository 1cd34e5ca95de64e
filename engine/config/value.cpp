#include <spire/base/error.h>
#include <spire/config/scalar.h>
#include <spire/config/value.h>

#include <algorithm>

namespace spire {

namespace {

constexpr size_t kLongestList = 1024;

// The text of a scalar. Only words may be quoted: "5" is a string and no number.
const std::string& scalar(const YAML::Node& node, std::string_view expected, bool may_be_quoted) {
  if (node.IsNull()) fail(Category::config, "has no value; expected {}", expected);
  if (!node.IsScalar()) fail(Category::config, "expected {}, got {}", expected, describe(node));
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

// read(node, T): the node as a T.
bool read(const YAML::Node& node, bool) {
  return parse_boolean(scalar(node, "true or false", false));
}
int64_t read(const YAML::Node& node, int64_t) {
  return parse_integer(scalar(node, "an integer", false));
}
uint64_t read(const YAML::Node& node, uint64_t) {
  return parse_unsigned(scalar(node, "an integer from 0", false));
}
double read(const YAML::Node& node, double) {
  return parse_number(scalar(node, "a finite number", false));
}
std::string read(const YAML::Node& node, const std::string&) {
  const std::string& text = scalar(node, "a word", true);
  if (text.empty()) fail(Category::config, "is empty; expected a word");
  if (text.find('\0') != text.npos) fail(Category::config, "holds a zero byte");
  return text;
}
std::optional<int64_t> read(const YAML::Node& node, const std::optional<int64_t>&) {
  return read(node, int64_t{});
}

template <typename T>
std::vector<T> read_list(const YAML::Node& node) {
  if (node.size() > kLongestList)
    fail(Category::config, "the list has over {} entries", kLongestList);
  std::vector<T> values;
  for (const auto& entry : node) values.push_back(read(entry, T{}));
  return values;
}

std::vector<int64_t> read(const YAML::Node& node, const std::vector<int64_t>&) {
  if (node.IsSequence()) return read_list<int64_t>(node);
  fail(Category::config, "expected a list of integers: [64, 32], got {}", describe(node));
}

// A list of words may be written as one word.
std::vector<std::string> read(const YAML::Node& node, const std::vector<std::string>&) {
  if (node.IsSequence()) return read_list<std::string>(node);
  return {read(node, std::string())};
}

void check(const Field& field, const std::string& word) {
  if (field.choices.empty() || std::ranges::count(field.choices, word) > 0) return;
  std::string near = nearest(word, field.choices);
  fail(Category::config, "unknown value '{}'; {}: {}{}", excerpt(word),
       field.choices.size() == 1 ? "known is only" : "known are", fmt::join(field.choices, ", "),
       near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

template <typename Number>
void check_range(const Field& field, Number value) {
  if (field.range.contains(static_cast<double>(value))) return;
  fail(Category::config, "{} is out of range; it must be {}", value, field.range.text());
}

void check(const Field&, bool) {}
void check(const Field& field, int64_t value) {
  check_range(field, value);
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
template <typename T>
void check(const Field& field, const std::vector<T>& values) {
  for (const T& value : values) check(field, value);
}

}  // namespace

std::string describe(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return node.IsScalar() ? fmt::format("'{}'", excerpt(node.Scalar())) : "nothing";
}

void assign(const Field& field, const YAML::Node& node, RunConfig& config) {
  RunConfig changed = config;
  RunConfig defaults;
  bool unset = node.IsNull() && !field.unset.empty();
  std::visit(
      [&](auto* value) {
        using Value = std::remove_pointer_t<decltype(value)>;
        *value = unset ? *std::get<Value*>(field.slot(defaults)) : read(node, *value);
      },
      field.slot(changed));
  check_value(field, changed);
  config = std::move(changed);
}

void check_value(const Field& field, RunConfig& config) {
  std::visit([&](auto* value) { check(field, *value); }, field.slot(config));
  if (field.settle != nullptr) field.settle(config);
}

}  // namespace spire
