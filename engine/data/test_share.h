// Which samples are kept for testing where the files name none (the keys test_share). There are two
// rules, as samples either come row by row or are known by class at the start:
// - rows of tables and arrays, and pairs: each by a hash of its number. Whether a row is a test row
//   does not depend on the others, so a table that grows keeps its test rows, targets of any kind
//   will do, and one pass over a file is enough. The number of test rows is close to the share.
// - images of folders and tar shards: of each class the nearest whole number, at least one, as
//   classes may have few images, and files in order of their classes have no numbers that stay.
// Neither depends on the seed or on devices.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spire::inline data {

// Random streams of Purpose::test_split: each choice of samples has draws of its own, so that none
// follows from another.
namespace split_streams {
inline constexpr uint64_t rows = 0;         // rows for testing: is_test_row()
inline constexpr uint64_t validation = 1;   // samples for validation: split_validation()
inline constexpr uint64_t test_images = 2;  // images of each class for testing: test_images_of()
}  // namespace split_streams

// Whether row `number` of a table, array or list of pairs is a test row.
bool is_test_row(int64_t number, double test_share);

// The note of ReadOptions::all_test on data that names no test data. key: of the share that is kept
// otherwise. samples: "300 rows".
std::string all_test_note(const std::string& what, const std::string& samples, const char* key);

// Marks the images, of these labels, that are for testing: of each class round(share * n) of its n
// images, at least one and at most n - 1; none of a single one. what: names the data in messages.
// Throws Error(data) where no class has two images.
std::vector<bool> test_images_of(std::span<const int32_t> labels, double share,
                                 const std::string& what);

}  // namespace spire::inline data
