#include "engine/config/value.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/config/layer_node.h"
#include "engine/config/scalar.h"

namespace spire::inline config {

namespace {

std::optional<int64_t> read(const YAML::Node& node, const std::optional<int64_t>&) {
  return spire::read(node, int64_t{});
}

void check(const Field& field, const std::string& word) {
  if (field.choices.empty() || std::ranges::count(field.choices, word) > 0) return;
  fail(Category::config, "{}", unknown_word(word, field.choices));
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
void check(const Field&, const std::vector<LayerConfig>& layers) {
  check_layers(layers, "");
}

}  // namespace

std::string assign(const Field& field, const YAML::Node& node, RunConfig& config) {
  RunConfig changed = config;
  RunConfig defaults;
  bool unset = node.IsNull() && !field.unset.empty();
  std::visit(
      [&](auto* value) {
        using Value = std::remove_pointer_t<decltype(value)>;
        *value = unset ? *std::get<Value*>(field.slot(defaults)) : read(node, *value);
      },
      field.slot(changed));
  std::string note = field.note != nullptr ? field.note(changed) : "";
  check_value(field, changed);
  config = std::move(changed);
  return note;
}

void check_value(const Field& field, RunConfig& config) {
  std::visit([&](auto* value) { check(field, *value); }, field.slot(config));
  if (field.settle != nullptr) field.settle(config);
}

}  // namespace spire::inline config
