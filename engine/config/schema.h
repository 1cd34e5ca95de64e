// Schema of the config: one table of keys. Reading, checks, --help-config, --print-config and the
// config.yaml of a run are made from it, so that they agree.
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

namespace spire {

// Type-erased pointer to an enum member of a config; reads and sets it by the enumerator's word.
class EnumSlot {
 public:
  template <HasWords Enum>
  EnumSlot(Enum* value)  // NOLINT(google-explicit-constructor): a Slot is made from any pointer
      : value_(value),
        words_(all_words<Enum>),
        get_([](const void* from) { return static_cast<size_t>(*static_cast<const Enum*>(from)); }),
        set_([](void* to, size_t index) { *static_cast<Enum*>(to) = static_cast<Enum>(index); }) {}

  std::span<const std::string_view> words() const { return words_; }
  size_t index() const { return get_(value_); }  // >= words().size() if it is no enumerator
  std::string word() const {
    return index() < words_.size() ? std::string(words_[index()]) : std::to_string(index());
  }
  const EnumSlot& operator*() const { return *this; }  // like a pointer, as other slots are
  void set(size_t index) const { set_(value_, index); }

 private:
  void* value_;
  std::span<const std::string_view> words_;
  size_t (*get_)(const void*);
  void (*set_)(void*, size_t);
};

// Pointer to a field's value in a RunConfig. The variant's alternative tells the field's type.
using Slot =
    std::variant<bool*, int64_t*, uint64_t*, double*, std::string*, EnumSlot,
                 std::optional<int64_t>*, std::vector<int64_t>*, std::vector<double>*,
                 std::vector<std::string>*, std::vector<WeightFactor>*, std::vector<LayerConfig>*>;

// Bounds of a number, or of each number in a list. An open bound itself is not allowed.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  bool contains(double value) const;
  std::string text() const;  // ">= 1", "in [0, 1)"; empty if there are no bounds
};

// Condition under which a key is used: the key `key` has one of `words`, or, where `holds` is set,
// holds(config) is true.
struct Use {
  std::string key = {};  // "optimizer.name"; empty: no condition
  std::vector<std::string> words =
      {};  // "sgd", "lars"; with holds(), a text that only messages show: "1 or more"
  bool (*holds)(const RunConfig&) = nullptr;
};

// Row of the table: one key.
struct Field {
  std::string path = {};  // "optimizer.lr"
  Slot (*slot)(RunConfig&) = nullptr;
  std::string help = {};                  // one line
  Range range = {};                       // allowed numbers
  std::vector<std::string> choices = {};  // allowed words; empty: any; schema() adds an enum's
  std::string unit = {};                  // "samples", "steps"; empty if there is none
  std::string zero = {};                  // word read and printed for 0, which `range` may exclude
  std::string unset = {};                 // meaning of null; empty: null is an error
  // Checks this field further and may expand its value. Throws Error(config).
  void (*settle)(RunConfig&) = nullptr;
  bool pairs = false;    // in a list of words, {cuda:0: 8GiB} is read as cuda:0:8GiB
  bool maps = false;     // {a: b, c: ""} is read as the list of words a:b, c:
  bool is_path = false;  // of a file or folder: ~ at its head is the home directory
  Use used_by = {};
  bool shapes_result = true;  // the result depends on it: a resumed run warns of a change
  // Called before `settle`. Returns advice if a valid value has a discouraged form, else "".
  std::string (*note)(const RunConfig&) = nullptr;
};

const std::vector<Field>& schema();              // by section, in the order in which they print
const Field* find_field(std::string_view path);  // null if there is none
bool is_section(std::string_view path);          // true for "optimizer"

// unused() returns true if the condition `used_by` fails. A condition with words does not fail
// while its key is auto. used_by_auto() returns whether the condition waits for another key that is
// still auto. unused_text(): "is not used with optimizer.name: sgd, only with adam, adamw".
bool unused(const Field& field, const RunConfig& config);
bool used_by_auto(const Field& field, const RunConfig& config);
std::string unused_text(const Field& field, const RunConfig& config);

// Returns the key meant by a mistyped one, or by another program's word (synonyms.h); "" if none.
std::string nearest_key(std::string_view path);
std::string key_of_leaf(std::string_view leaf);     // "lr" -> "optimizer.lr"; "" if not unique
std::string key_of_synonym(std::string_view word);  // "learning_rate" -> "optimizer.lr", or ""

// Return "optimizer" and "lr" for "optimizer.lr"; a top-level key has an empty section.
std::string_view section_of(std::string_view path);
std::string_view leaf_of(std::string_view path);

}  // namespace spire
