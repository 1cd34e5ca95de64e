// Text files as token ids.
#pragma once
#include <filesystem>

#include <spire/run_config.h>

#include "engine/data/text/vocabulary.h"

namespace spire::inline data {

inline constexpr size_t max_vocabulary_text = size_t{16} << 20;  // bytes of vocabulary.txt

struct TokenText {
  std::unique_ptr<Vocabulary> vocabulary;
  std::string text;
  std::vector<std::filesystem::path> files;
};

// The files of config.text, plain or gzip, one after another, as config.vocabulary has it. With
// characters the vocabulary is of all of the text; with gpt2 <|endoftext|> stands between files.
// Throws Error(data), naming file and byte, for what is no UTF-8 (but with bytes anything is text).
TokenText read_token_text(const TokensConfig& config);

// Where a part of the text that begins at `first` ends, about `bytes` further on: the tokens of the
// parts, one after another, are those of the whole text.
size_t end_of_part(const TokenText& text, size_t first, size_t bytes);

struct TextTokens {
  std::unique_ptr<Vocabulary> vocabulary;
  std::vector<int32_t> ids;
  std::vector<std::filesystem::path> files;
};

// The same as ids.
TextTokens read_text_tokens(const TokensConfig& config);

// How many of `count` ids of a text are for the test: the last ones.
int64_t test_tokens(int64_t count, const TokensConfig& config);

// The folder of a GPT-2 vocabulary, absolute. auto: the first of the known folders gpt2 with one.
std::filesystem::path find_bpe(const std::string& path);

}  // namespace spire::inline data
