// What the two files of a GPT-2 vocabulary say, as encoding needs it.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

namespace spire::inline data {

struct BpeMerge {
  int32_t rank;    // the lowest one is merged first
  int32_t merged;  // the token that it makes
};

struct BpeTables {
  std::vector<std::string> bytes;                 // (size): what each token stands for
  std::array<int32_t, 256> ids_of_bytes{};        // tokens of one byte
  std::unordered_map<uint64_t, BpeMerge> merges;  // by pair_key
  int32_t end_of_text = -1;                       // -1: there is none
};

inline uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// bpe.h says which files are read, and what is thrown.
BpeTables read_bpe_tables(const std::filesystem::path& folder);

}  // namespace spire::inline data
