// Which folders and files are training, validation and test data, by the names that people give
// them: one rule for all formats.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>

namespace spire::inline data {

enum class Part { train, val, test };

// Returns the part that a name means, in any case: train, training; val, valid, validation, dev;
// test, testing. nullopt for all other names.
std::optional<Part> part_named(std::string_view name);
std::vector<std::string> words_for(Part part);  // in the order in which they are preferred

// Returns the first word of a name that means a part, as it is written: "Train" of
// "set1-Train_000.tar". Words are letters between other characters. Empty: there is none.
std::string part_word(std::string_view name);

// What is read of some folders or files. Empty names: there is none for that part.
struct PartNames {
  std::string train, val, test;
  std::vector<std::string> others = {};  // names that mean no part, in their order
  std::vector<std::string> notes = {};   // for the user: parts that are not read

  bool none() const { return train.empty() && val.empty() && test.empty(); }
  // Has validation data as test data, and notes why the test data is not read. REQUIRES: there is
  // both.
  void leave_out_test(const std::string& place, const std::string& reason);
};

// Chooses one name for each part. Validation data is of its own only beside test data: where one of
// the two is there, it is `test`. Where `val` asks for other validation data (a share, a path),
// that is taken. A note names each part that is then not read, and those of a second name.
// place: where they are, for the notes. word_of: what of a name may mean a part; all of it by
// default, or a file's name without its ending.
PartNames choose_parts(
    const std::string& place, const std::vector<std::string>& names, const ValConfig& val,
    const std::function<std::string(const std::string& name)>& word_of = std::identity());

}  // namespace spire::inline data
