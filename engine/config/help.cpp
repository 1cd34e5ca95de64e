#include "engine/config/help.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/config/layer_text.h"
#include "engine/config/text.h"

namespace spire::inline config {

namespace {

std::string_view type_name(bool*) {
  return "true or false";
}
std::string_view type_name(int64_t*) {
  return "integer";
}
std::string_view type_name(uint64_t*) {
  return "integer >= 0";
}
std::string_view type_name(double*) {
  return "number";
}
std::string_view type_name(std::string*) {
  return "word";
}
std::string_view type_name(std::optional<int64_t>*) {
  return "integer";
}
std::string_view type_name(std::vector<double>*) {
  return "list of numbers";
}
std::string_view type_name(std::vector<int64_t>*) {
  return "list of integers";
}
std::string_view type_name(std::vector<std::string>*) {
  return "word or list of words";
}
std::string_view type_name(std::vector<LayerConfig>*) {
  return "list of layers, see below";
}

// "integer in [1, 1024], threads", "sgd | adam | adamw"
std::string allowed(const Field& field) {
  if (!field.choices.empty()) return fmt::format("{}", fmt::join(field.choices, " | "));
  RunConfig config;
  std::string text(std::visit([](auto* value) { return type_name(value); }, field.slot(config)));
  if (!field.range.text().empty()) text += fmt::format(" {}", field.range.text());
  if (!field.unit.empty()) text += fmt::format(", {}", field.unit);
  return field.unset.empty() ? text : fmt::format("{}; null: {}", text, field.unset);
}

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

}  // namespace spire::inline config
