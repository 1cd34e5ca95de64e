// Tokenizes the text files of a config.
#pragma once
#include <filesystem>

#include <spire/run_config.h>

#include "engine/data/text/vocabulary.h"

namespace spire::inline data {

inline constexpr size_t max_vocabulary_text = size_t{16} << 20;  // bytes of vocabulary.txt

// A text before it is tokenized.
struct TokenText {
  std::unique_ptr<Vocabulary> vocabulary;
  std::string text;
  std::vector<std::filesystem::path> files;
};

// Reads the files of config.text, plain or gzip, and concatenates them; for gpt2 <|endoftext|>
// separates them. The vocabulary `characters` is that of the whole text. Throws Error(data), naming
// file and byte, for invalid UTF-8 (`bytes` accepts any file).
TokenText read_token_text(const TokensConfig& config);

// Returns where a part of the text that begins at `first` and has about `bytes` may end: encoding
// the parts one by one gives the tokens of the whole text.
size_t end_of_part(const TokenText& text, size_t first, size_t bytes);

struct TextTokens {
  std::unique_ptr<Vocabulary> vocabulary;
  std::vector<int32_t> ids;
  std::vector<std::filesystem::path> files;
};

// Reads the same files as token ids.
TextTokens read_text_tokens(const TokensConfig& config);

// Returns how many of `count` ids, the last ones, are test data.
int64_t test_tokens(int64_t count, const TokensConfig& config);

// Returns the absolute folder of a GPT-2 vocabulary. auto: the first folder gpt2 on the data search
// path that has one; throws Error(data) where none has.
std::filesystem::path find_bpe(const std::string& path);

}  // namespace spire::inline data
