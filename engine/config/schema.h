// Schema of the config: one table of keys, from which reading, checks, --help-config,
// --print-config and the echo in a run directory are made, so that they agree.
#pragma once
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>

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

// A pointer to a field's value in a RunConfig; its alternative is the field's type.
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

// Condition of a key that has a meaning only with some words of another key.
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
  // A further check of this field alone, which may also expand the value; throws Error(config).
  void (*settle)(RunConfig&) = nullptr;
  Use used_by = {};
  // Whether another value changes the result of a run. A resumed run warns of such changes since
  // its checkpoint. Other keys say where and how to run, or are taken from the checkpoint.
  bool shapes_result = true;
  // Returns a hint for a valid value in a discouraged form; empty for others. Called before
  // `settle`.
  std::string (*note)(const RunConfig&) = nullptr;
};

// All fields, by section, in the order in which they are printed.
const std::vector<Field>& schema();
const Field* find_field(std::string_view path);  // null when there is none
bool is_section(std::string_view path);          // "optimizer"

// Whether `used_by` rules the field out; the reason for messages: "is not used with optimizer.name:
// sgd, only with adam, adamw". With auto the field counts as used, and used_by_auto() is true.
bool unused(const Field& field, const RunConfig& config);
bool used_by_auto(const Field& field, const RunConfig& config);
std::string unused_text(const Field& field, const RunConfig& config);

// Returns the key that a mistyped one probably meant; empty when none is close.
std::string nearest_key(std::string_view path);

// Returns the only key with this leaf: "lr" -> "optimizer.lr"; empty for none or several.
std::string key_of_leaf(std::string_view leaf);

// "optimizer.lr" -> "optimizer" and "lr"; a key of the first level has an empty section.
std::string_view section_of(std::string_view path);
std::string_view leaf_of(std::string_view path);

}  // namespace spire::inline config
