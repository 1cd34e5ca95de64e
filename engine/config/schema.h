// Schema of the config: one table of keys, from which reading, checks, --help-config,
// --print-config and the echo in a run directory are made, so that they agree.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <spire/run_config.h>

#include "engine/config/words.h"

namespace spire::inline config {

// Type-erased pointer to an enum member of a config; it reads and writes words.
class EnumSlot {
 public:
  template <HasWords Enum>
  EnumSlot(Enum* value)  // NOLINT(google-explicit-constructor): a Slot is made from any pointer
      : value_(value),
        words_(all_words<Enum>),
        get_([](const void* from) { return static_cast<size_t>(*static_cast<const Enum*>(from)); }),
        set_([](void* to, size_t index) { *static_cast<Enum*>(to) = static_cast<Enum>(index); }) {}

  std::span<const std::string_view> words() const { return words_; }
  size_t index() const { return get_(value_); }  // >= words().size(): no enumerator
  std::string word() const {
    return index() < words_.size() ? std::string(words_[index()]) : std::to_string(index());
  }
  const EnumSlot& operator*() const { return *this; }  // as the other slots, which are pointers
  void set(size_t index) const { set_(value_, index); }

 private:
  void* value_;
  std::span<const std::string_view> words_;
  size_t (*get_)(const void*);
  void (*set_)(void*, size_t);
};

// Points to a field's value in a RunConfig; its alternative is the field's type.
using Slot = std::variant<bool*, int64_t*, uint64_t*, double*, std::string*, EnumSlot,
                          std::optional<int64_t>*, std::vector<int64_t>*, std::vector<double>*,
                          std::vector<std::string>*, std::vector<LayerConfig>*>;

// Bounds of a number, or of each number of a list. An open bound is not itself allowed.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  bool contains(double value) const;
  std::string text() const;  // ">= 1", "in [0, 1)"; empty when there are no bounds
};

// A condition for keys that mean something only with some words of another key.
struct Use {
  std::string key = {};                 // "optimizer.name"; empty: no condition
  std::vector<std::string> words = {};  // "sgd", "lars"
};

// A row of the table.
struct Field {
  std::string path = {};  // "optimizer.lr"
  Slot (*slot)(RunConfig&) = nullptr;
  std::string help = {};                  // one line
  Range range = {};                       // numbers
  std::vector<std::string> choices = {};  // empty: any word; of an enum: filled in by schema()
  std::string unit = {};                  // "samples", "steps"; empty: none
  std::string unset = {};                 // what null stands for; empty: null is refused
  // Checks this field further, and may expand the value; throws Error(config).
  void (*settle)(RunConfig&) = nullptr;
  Use used_by = {};
  bool shapes_result = true;  // a resumed run warns of another value than its checkpoint has
  // Returns a hint for a valid value in a discouraged form, before `settle`; empty for others.
  std::string (*note)(const RunConfig&) = nullptr;
};

const std::vector<Field>& schema();              // by section, in the order of printing
const Field* find_field(std::string_view path);  // null when there is none
bool is_section(std::string_view path);          // "optimizer"

// Apply the condition `used_by`. unused_text: "is not used with optimizer.name: sgd, only with
// adam, adamw". Where the other key is auto, the field counts as used, and used_by_auto() is true.
bool unused(const Field& field, const RunConfig& config);
bool used_by_auto(const Field& field, const RunConfig& config);
std::string unused_text(const Field& field, const RunConfig& config);

std::string nearest_key(std::string_view path);  // for a mistyped one; empty: none is close
std::string key_of_leaf(std::string_view leaf);  // "lr" -> "optimizer.lr"; empty: none or several

// "optimizer.lr" -> "optimizer" and "lr"; a key of the first level has an empty section.
std::string_view section_of(std::string_view path);
std::string_view leaf_of(std::string_view path);

}  // namespace spire::inline config
