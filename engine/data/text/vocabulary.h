// Vocabularies, text to token ids and back: bytes, characters, GPT-2's byte-pair encoding (Radford
// et al. 2019); and UTF-8 (RFC 3629).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace spire::inline data {

// Encodes and decodes text: decode(encode(text)) == text. Immutable: any thread may use it.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual std::string name() const = 0;  // bytes | characters | gpt2
  virtual int64_t size() const = 0;      // ids are in [0, size())

  // Throws Error(data), naming the byte, where there is no token for the text.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const int32_t> ids) const = 0;  // throws Error(data)

  virtual std::string to_text() const = 0;  // from which make_vocabulary() makes it again
};

std::unique_ptr<Vocabulary> byte_vocabulary();  // id = byte; encodes any text

// Makes the vocabulary of a text's code points, in order. Throws Error(data) for none, or no UTF-8.
std::unique_ptr<Vocabulary> character_vocabulary(std::string_view text);

// Reads a GPT-2 vocabulary from a folder; encode() accepts UTF-8 only. Files:
// - encoder.json or vocab.json: {"token": id, ...}, ids 0 to n - 1, among them all 256 bytes;
// - vocab.bpe or merges.txt: "left right" on each line, the merge learnt first on the first line.
// Throws Error(data), naming the file and the line or token.
std::unique_ptr<Vocabulary> read_bpe(const std::filesystem::path& folder);

// Makes a vocabulary from "bytes", "characters:" and a JSON string of all of them, or "gpt2:" and
// the folder of its files. Throws Error(data) for any other text, and for broken files.
std::unique_ptr<Vocabulary> make_vocabulary(const std::string& text);

inline constexpr std::string_view end_of_text = "<|endoftext|>";  // a token of its own, if known

// Pre-tokenizes a text: calls `use` for each match of the pattern of GPT-2's encoder.py, in order:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// The matches cover the text and are views of it. REQUIRES: `text` is valid UTF-8.
void for_each_pretoken(std::string_view text, const std::function<void(std::string_view)>& use);

struct BpeMerge {
  int32_t rank;    // the merge of the lowest rank goes first
  int32_t merged;  // id of the token that results
};

struct BpeTables {                                // lookup tables of the two files
  std::vector<std::string> bytes;                 // (size): the bytes of each token
  std::array<int32_t, 256> ids_of_bytes{};        // token of each single byte
  std::unordered_map<uint64_t, BpeMerge> merges;  // keys are those of pair_key()
  int32_t end_of_text = -1;                       // id of <|endoftext|>; -1: there is none
};
BpeTables read_bpe_tables(const std::filesystem::path& folder);  // throws as read_bpe()

// Packs two neighbouring ids into one key.
inline uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

std::string unicode_version();  // of the installed PCRE2, by which pretokens are split: "14.0.0"

// Returns the code point at text[at] and moves `at` behind it. Returns nothing, and leaves `at`, at
// the end of the text and where it is ill-formed.
std::optional<char32_t> next_code(std::string_view text, size_t& at);

void append_utf8(std::string& text, char32_t code);  // appends nothing beyond U+10FFFF

// Returns the offset of the first ill-formed sequence; nothing for valid text.
std::optional<size_t> invalid_utf8(std::string_view text);

}  // namespace spire::inline data
