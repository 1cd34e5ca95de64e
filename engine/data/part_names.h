// Which folders and files are training, validation and test data, by the names that people give
// them: one rule for all formats.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>

namespace spire {

enum class Part { train, val, test };

// Returns the part that a name means, in any case: train, training; val, valid, validation, dev;
// test, testing. nullopt for all other names.
std::optional<Part> part_named(std::string_view name);
std::vector<std::string> words_for(Part part);  // in the order in which they are preferred

// Returns the first word of a name that means a part, as it is written: "Train" of
// "set1-Train_000.tar". Words are letters between other characters. Empty: there is none.
std::string part_word(std::string_view name);

// The name that was chosen for each part. Empty: there is none for that part.
struct PartNames {
  std::string train, val, test;
  std::vector<std::string> others = {};  // names that mean no part, in their order
  std::vector<std::string> notes = {};   // for the user: parts that are not read

  bool none() const { return train.empty() && val.empty() && test.empty(); }
  // Makes the validation data the test data, and notes why the test data is not read: `reason`.
  // REQUIRES: both are there.
  void use_validation_as_test(const std::string& place, const std::string& reason);
};

// Chooses one name for each part. If only one of validation and test data is there, it is `test`.
// If `val` asks for other validation data (a share, a path), a name for validation data is not
// used. Notes say which names are not read: such a name, and further names for a part that has one.
// place: where the names are, for the notes. word_of: returns the word in a name that may mean a
// part; by default the whole name.
PartNames choose_parts(
    const std::string& place, const std::vector<std::string>& names, const ValConfig& val,
    const std::function<std::string(const std::string& name)>& word_of = std::identity());

// Which samples are kept for testing where the files name none (the keys test_share). There are two
// rules, as samples either come row by row or are known by class at the start:
// - rows of tables and arrays, and pairs: each by a hash of its number. Whether a row is a test row
//   does not depend on the others, so a table that grows keeps its test rows, targets of any kind
//   will do, and one pass over a file is enough. The number of test rows is close to the share.
// - images of folders and tar shards: of each class the nearest whole number, at least one, as
//   classes may have few images, and files in order of their classes have no numbers that stay.
// Neither depends on the seed or on devices.

// Random streams of Purpose::test_split: each choice of samples has draws of its own, so that none
// follows from another.
namespace split_streams {
inline constexpr uint64_t rows = 0;         // rows for testing: is_test_row()
inline constexpr uint64_t validation = 1;   // samples for validation: split_validation()
inline constexpr uint64_t test_images = 2;  // images of each class for testing: test_images_of()
}  // namespace split_streams

// Returns whether row `number` of a table, array or list of pairs is a test row.
bool is_test_row(int64_t number, double test_share);

// Returns the note for ReadOptions::all_test on data that names no test data. what: names the data.
// samples: "300 rows". key: the config key of the share that training keeps for testing.
std::string all_test_note(const std::string& what, const std::string& samples, const char* key);

// Returns a mark per image, true for testing, given the images' labels: of the n images of a class
// round(share * n), at least 1 and at most n - 1; none of a class with one image. what: names the
// data in messages. Throws Error(data) if no class has two images.
std::vector<bool> test_images_of(std::span<const int32_t> labels, double share,
                                 const std::string& what);

}  // namespace spire
