// Tokenizes the text files of a config.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/text/vocabulary.h"

namespace spire::inline data {

inline constexpr size_t max_vocabulary_text = size_t{16} << 20;  // bytes of vocabulary.txt

struct TokenText {  // not tokenized yet
  std::unique_ptr<Vocabulary> vocabulary;
  std::string text;
  std::vector<std::filesystem::path> files;
};

// Reads and concatenates the files of config.text, plain or gzip; for gpt2 <|endoftext|> separates
// them. Throws Error(data), naming file and byte, for invalid UTF-8 (`bytes` accepts any file).
TokenText read_token_text(const TokensConfig& config);

// Returns where a part from `first` on, of about `bytes`, may end: encoding part by part gives the
// tokens of the whole text.
size_t end_of_part(const TokenText& text, size_t first, size_t bytes);

struct TextTokens {
  std::unique_ptr<Vocabulary> vocabulary;
  std::vector<int32_t> ids;
  std::vector<std::filesystem::path> files;
};

TextTokens read_text_tokens(const TokensConfig& config);  // the same files, as ids

// Returns how many of `count` ids, the last ones, are test data.
int64_t test_tokens(int64_t count, const TokensConfig& config);

// Returns a GPT-2 vocabulary's absolute folder; auto: on the data search path, else Error(data).
std::filesystem::path find_bpe(const std::string& path);

}  // namespace spire::inline data
