// GPT-2's byte-pair encoding (Radford et al. 2019). A text is split into pieces and each piece into
// bytes; then neighbouring tokens of a piece are merged, the merge learnt first before the others.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/data/text/vocabulary.h"

namespace spire::inline data {

inline constexpr std::string_view end_of_text = "<|endoftext|>";

// Reads a GPT-2 vocabulary from a folder:
// - encoder.json or vocab.json: {"token": id, ...}, ids 0 to n - 1, among them all 256 bytes;
// - vocab.bpe or merges.txt: "left right" on each line, the merge learnt first on the first line.
// Printable bytes are written as themselves, the others as U+0100 and up. The token <|endoftext|>,
// if there is one, stands for that text wherever it occurs. encode() accepts UTF-8 only.
// Throws Error(data), naming the file and the line or token.
std::unique_ptr<Vocabulary> read_bpe(const std::filesystem::path& folder);

// Pre-tokenizes a text: calls `use` for each match of the pattern of GPT-2's encoder.py, in order:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// A word keeps one space before it, the last one of a run of spaces. The pieces cover the text and
// are views of it. REQUIRES: `text` is valid UTF-8. Any thread may call it.
void for_each_piece(std::string_view text, const std::function<void(std::string_view)>& use);

struct BpeMerge {
  int32_t rank;    // the merge of the lowest rank goes first
  int32_t merged;  // id of the token that results
};

// Lookup tables of a vocabulary's two files.
struct BpeTables {
  std::vector<std::string> bytes;                 // (size): the bytes of each token
  std::array<int32_t, 256> ids_of_bytes{};        // token of each single byte
  std::unordered_map<uint64_t, BpeMerge> merges;  // keys are those of pair_key()
  int32_t end_of_text = -1;                       // id of <|endoftext|>; -1: there is none
};

// Packs two neighbouring ids into one key.
inline uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// Reads the files of read_bpe(); throws as it does.
BpeTables read_bpe_tables(const std::filesystem::path& folder);

}  // namespace spire::inline data
