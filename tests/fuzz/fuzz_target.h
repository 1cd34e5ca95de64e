// A fuzz target is one file that defines consume() and seeds() for one parser. README.md shows how
// it is built into a libFuzzer program and into a test.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <spire/error.h>

namespace spire::fuzz {

using Bytes = std::vector<uint8_t>;

// What consume() found the bytes to be. All that is neither (another exception, a sanitizer's
// finding, a property that does not hold) ends the program: it is a bug of the parser.
inline constexpr int accepted = 0;
inline constexpr int refused = 1;

// Hands `size` bytes to the parser as a user would. Defined once in each target.
int consume(const uint8_t* data, size_t size);

// Good files, all of them accepted: where fuzzing starts. Small ones, the same at every call.
// Defined once in each target.
std::vector<Bytes> seeds();

inline Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

// Runs `parse`; only an Error of this category counts as a refusal.
template <typename Parse>
int parse_or_refuse(Category category, Parse&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    if (error.category() != category) throw;
    return refused;
  }
  return accepted;
}

}  // namespace spire::fuzz
