// The one table of config keys. Reading, --help-config, --print-config and the echo in a run
// directory are all made from it, so that they cannot disagree.
#pragma once
#include <limits>
#include <span>
#include <string_view>
#include <variant>

#include <spire/run_config.h>

#include "engine/config/words.h"

namespace spire::inline config {

// A pointer to an enum member of a config, of which it hides the type: it reads and writes words.
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
  std::string word() const { return std::string(words_[index()]); }
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

// A key that means something with some words of another key only.
struct Use {
  std::string key = {};                 // "optimizer.name"; empty: it always means something
  std::vector<std::string> words = {};  // "sgd", "lars"
};

struct Field {
  std::string path = {};  // "optimizer.lr"
  Slot (*slot)(RunConfig&) = nullptr;
  std::string help = {};                  // one line
  Range range = {};                       // numbers
  std::vector<std::string> choices = {};  // empty: any word; of an enum: filled in by schema()
  std::string unit = {};                  // "samples", "steps"; empty: none
  std::string unset = {};                 // what null stands for; empty: null is refused
  void (*settle)(RunConfig&) =
      nullptr;  // a further check of this field alone; throws Error(config)
  Use used_by = {};
  // Whether another value changes what the run computes. A run that goes on from a checkpoint warns
  // of such changes; the others say where and how it runs, or are taken from the checkpoint.
  bool shapes_result = true;
  // What to tell of a value that is good, but not written as it should be; empty where nothing is.
  // It sees the value before `settle`.
  std::string (*note)(const RunConfig&) = nullptr;
};

// All fields; those of one section stand together, in the order in which they are printed.
const std::vector<Field>& schema();
const Field* find_field(std::string_view path);  // null when there is none
bool is_section(std::string_view path);          // "optimizer"

// Whether the field means nothing to this config; and why, for messages: "is not used with
// optimizer.name sgd, only with adam, adamw". Where auto decides about it, it may mean something.
bool unused(const Field& field, const RunConfig& config);
bool used_by_auto(const Field& field, const RunConfig& config);
std::string unused_text(const Field& field, const RunConfig& config);

// The key that a mistyped one probably meant, empty when none is close.
std::string nearest_key(std::string_view path);

// The only key with this leaf: "lr" -> "optimizer.lr"; empty when there is none, or several.
std::string key_of_leaf(std::string_view leaf);

// "optimizer.lr" -> "optimizer" and "lr"; a key of the first level has an empty section.
std::string_view section_of(std::string_view path);
std::string_view leaf_of(std::string_view path);

}  // namespace spire::inline config
