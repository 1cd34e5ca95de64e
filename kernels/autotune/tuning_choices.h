// Which of a library's engines computes an operation, where several can: texts by texts, as they
// are kept in files and sent between processes.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include <spire/error.h>

namespace spire::inline kernels {

class TuningChoices {
 public:
  // key: device kind, version and operation. Null where nothing was chosen.
  const std::string* find(const std::string& key) const;
  // Replaces what was chosen before. REQUIRES: both are one line of text without tabs, not empty.
  void set(const std::string& key, const std::string& choice);
  // Those of `others` for keys that have no choice here.
  void add_missing(const TuningChoices& others);

  size_t size() const { return choices_.size(); }
  bool empty() const { return choices_.empty(); }
  bool operator==(const TuningChoices&) const = default;
  auto begin() const { return choices_.begin(); }  // pairs of key and choice, by key
  auto end() const { return choices_.end(); }

  // "spire tuning 1 <hash64 of the lines below>", then a line "<key><tab><choice>" a choice, in the
  // order of the keys: the same choices give the same text.
  std::string to_text() const;
  // Throws Error(category) that says what is wrong where the text is not such a text, whole.
  static TuningChoices from_text(std::string_view text, Category category);

 private:
  std::map<std::string, std::string> choices_;
};

}  // namespace spire::inline kernels
