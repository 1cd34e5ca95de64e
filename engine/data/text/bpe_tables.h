// Lookup tables of a byte-pair vocabulary, and functions that make them from its files.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace spire {

// Tokens that stand for a text wherever it occurs, before anything is split: <|endoftext|>.

struct SpecialToken {
  std::string text;
  int32_t id;
  bool operator==(const SpecialToken&) const = default;
};

class SpecialTokens {
 public:
  void add(SpecialToken token);  // REQUIRES: token.text is not empty

  struct Match {
    size_t begin;
    const SpecialToken* token;
  };
  // Returns the first match in `text`; the longest of those that begin there.
  std::optional<Match> find(std::string_view text) const;

  std::vector<SpecialToken> all() const;  // in ascending order of the text

 private:
  std::array<std::vector<SpecialToken>, 256> by_first_byte_;  // each: longest first
};

struct BpeMerge {
  int32_t rank;    // the merge with the lowest rank is applied first
  int32_t merged;  // id of the token that results
  bool operator==(const BpeMerge&) const = default;
};

struct BpeTables {
  std::vector<std::string> bytes;                 // (size): the bytes of each token
  std::array<int32_t, 256> ids_of_bytes{};        // id of the token of each single byte
  std::unordered_map<uint64_t, BpeMerge> merges;  // by pair_key() of the merged tokens
  // Tokens of special[0] are searched first; tokens of special[1] in the text between their
  // matches.
  std::array<SpecialTokens, 2> special;
};

// Packs two neighbouring ids into the key of their merge.
inline uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// Reads what read_bpe() (vocabulary.h) reads, and throws what it throws.
BpeTables read_bpe_tables(const std::filesystem::path& path);

// Reads a tokenizer.json of Hugging Face's tokenizers. Throws Error(data), naming the place in the
// file, for one that is damaged or splits or merges otherwise than GPT-2's.
BpeTables read_tokenizer_json(const std::filesystem::path& path);

// What the readers of both formats share. `path` is named by errors; all throw Error(data).
inline constexpr size_t max_vocabulary_bytes = size_t{64} << 20;  // of one file

// Parses a file whose content is a JSON object; `what` says what the object is.
nlohmann::json read_json_object(const std::filesystem::path& path, const char* what);

// Returns the tokens by id of {"token": id, ...}, ids 0 to n - 1, as they are written.
std::vector<std::string> tokens_by_id(const nlohmann::json& object,
                                      const std::filesystem::path& path);

// Returns the bytes of a token in GPT-2's files, where each character stands for one byte; nullopt
// if a character stands for none.
std::optional<std::string> bytes_of_token(const std::string& token);

// Makes tables without merges and special tokens. Tokens marked in `whole` are texts as they are;
// the others are read by bytes_of_token(), and each single byte must have one.
BpeTables tables_of(const std::vector<std::string>& tokens, const std::vector<bool>& whole,
                    const std::filesystem::path& path);

// Collects merges in the order of learning.
class MergeTable {
 public:
  // Tokens marked in `whole` have no merges.
  MergeTable(const std::vector<std::string>& tokens, const std::vector<bool>& whole);
  // Returns what is wrong with a merge; nullopt if it was added.
  std::optional<std::string> add(const std::string& left, const std::string& right);
  std::unordered_map<uint64_t, BpeMerge> take();

 private:
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<uint64_t, BpeMerge> merges_;
};

}  // namespace spire
