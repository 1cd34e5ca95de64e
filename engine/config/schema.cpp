#include "engine/config/schema.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/schema_parts.h"
#include "engine/config/synonyms.h"
#include "engine/config/text.h"

namespace spire {

namespace {

std::vector<Field> all_fields() {
  using namespace schema_parts;
  std::vector<Field> fields = join({model_fields(), data_fields(), loss_fields(), run_fields(),
                                    optimizer_fields(), course_fields()});
  // An enum's words are its choices; other fields list theirs, if they have any.
  RunConfig config;
  for (Field& field : fields) {
    Slot slot = field.slot(config);
    if (auto choice = std::get_if<EnumSlot>(&slot))
      field.choices.assign(choice->words().begin(), choice->words().end());
  }
  return fields;
}

}  // namespace

// Made once, by the first thread that needs it.
const std::vector<Field>& schema() {
  static const std::vector<Field> fields = all_fields();
  return fields;
}

bool Range::contains(double value) const {
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string Range::text() const {
  bool has_low = low > -std::numeric_limits<double>::infinity();
  bool has_high = high < std::numeric_limits<double>::infinity();
  if (has_low && has_high) {
    return fmt::format("in {}{}, {}{}", low_open ? '(' : '[', low, high, high_open ? ')' : ']');
  }
  if (has_low) return fmt::format("{} {}", low_open ? ">" : ">=", low);
  return has_high ? fmt::format("{} {}", high_open ? "<" : "<=", high) : "";
}

const Field* find_field(std::string_view path) {
  auto found = std::ranges::find(schema(), path, &Field::path);
  return found == schema().end() ? nullptr : &*found;
}

namespace {

// Returns the present word of a key that is an enum or a word.
std::string current_word(const std::string& path, RunConfig config) {
  const Field* field = find_field(path);
  require(field != nullptr, "config: a field is used by '{}', which is not a key", path);
  Slot slot = field->slot(config);
  if (auto choice = std::get_if<EnumSlot>(&slot)) return choice->word();
  return *std::get<std::string*>(slot);
}

}  // namespace

// With auto the field counts as used: the run chooses later what auto means.
bool unused(const Field& field, const RunConfig& config) {
  const Use& use = field.used_by;
  if (use.key.empty()) return false;
  if (use.holds) return !use.holds(config);
  std::string word = current_word(use.key, config);
  return word != "auto" && std::ranges::count(use.words, word) == 0;
}

bool used_by_auto(const Field& field, const RunConfig& config) {
  const Use& use = field.used_by;
  return !use.key.empty() && !use.holds && std::ranges::count(use.words, "auto") == 0 &&
         current_word(use.key, config) == "auto";
}

std::string unused_text(const Field& field, const RunConfig& config) {
  const Use& use = field.used_by;
  return fmt::format(
      "is not used with {}: {}, only with {}", use.key,
      use.holds ? value_text(*find_field(use.key), config) : current_word(use.key, config),
      fmt::join(use.words, ", "));
}

bool is_section(std::string_view path) {
  return std::ranges::any_of(schema(), [&](const Field& field) {
    return field.path.size() > path.size() && field.path.starts_with(path) &&
           field.path[path.size()] == '.';
  });
}

std::string_view section_of(std::string_view path) {
  size_t dot = path.rfind('.');
  return dot == path.npos ? std::string_view() : path.substr(0, dot);
}

std::string_view leaf_of(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

std::string key_of_leaf(std::string_view leaf) {
  std::string key;
  for (const Field& field : schema()) {
    if (leaf_of(field.path) != leaf) continue;
    if (!key.empty()) return "";
    key = field.path;
  }
  return key;
}

namespace {

// Paths of all fields and their sections: "data", "data.augment", "data.augment.crop".
std::vector<std::string> all_paths() {
  std::vector<std::string> paths;
  for (const Field& field : schema()) {
    std::string_view path = field.path;
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
      std::string section(path.substr(0, dot));
      if (std::ranges::count(paths, section) == 0) paths.push_back(section);
    }
    paths.push_back(field.path);
  }
  return paths;
}

// Tells whether each part of a path is close to that of the other. Whole paths may be close merely
// because both have the same long section.
bool parts_are_close(std::string_view path, std::string_view other) {
  if (path.empty() || other.empty()) return path.empty() && other.empty();
  return !nearest(leaf_of(path), {std::string(leaf_of(other))}).empty() &&
         parts_are_close(section_of(path), section_of(other));
}

}  // namespace

std::string key_of_synonym(std::string_view word) {
  return our_word(SynonymGroup::keys, word, all_paths());
}

std::string find_key(const std::string& word) {
  if (find_field(word) != nullptr) return word;
  std::string leaf = key_of_leaf(word);
  return leaf.empty() ? key_of_synonym(word) : leaf;
}

std::string nearest_key(std::string_view path) {
  if (path.size() > 64) return "";  // not a typing mistake, and the search is quadratic
  if (std::string ours = key_of_synonym(leaf_of(path)); !ours.empty()) return ours;
  std::vector<std::string> same_leaf, siblings, sibling_leaves, close;
  for (const std::string& known : all_paths()) {
    if (find_field(known) && leaf_of(known) == leaf_of(path)) same_leaf.push_back(known);
    if (parts_are_close(path, known)) close.push_back(known);
    if (section_of(known) != section_of(path)) continue;
    siblings.push_back(known);
    sibling_leaves.emplace_back(leaf_of(known));
  }
  // Tries, in order: a letter missing at the end ("step"), a misspelt key in the right section, a
  // key in the wrong section, both misspelt.
  for (size_t i = 0; i < siblings.size(); ++i) {
    const std::string& whole = sibling_leaves[i];
    if (whole.starts_with(leaf_of(path)) && whole.size() == leaf_of(path).size() + 1)
      return siblings[i];
  }
  auto found = std::ranges::find(sibling_leaves, nearest(leaf_of(path), sibling_leaves));
  if (found != sibling_leaves.end())
    return siblings[static_cast<size_t>(found - sibling_leaves.begin())];
  if (same_leaf.size() == 1) return same_leaf.front();
  return nearest(path, close);
}

}  // namespace spire
