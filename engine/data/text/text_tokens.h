// Functions that read and tokenize the text files that a config names (data.tokens.text).
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/text/vocabulary.h"

namespace spire {

inline constexpr size_t max_vocabulary_text = size_t{16} << 20;  // largest vocabulary.txt, in bytes

struct TokenText {  // text that is not tokenized yet
  std::unique_ptr<Vocabulary> vocabulary;
  std::string text;
  std::vector<std::filesystem::path> files;
  int64_t skipped = 0;  // broken documents that were left out
  std::string first_problem = {};
};

inline constexpr std::string_view end_of_text_character = "\x03";  // ASCII's "end of text"

// Returns the text whose token begins each document: <|endoftext|> for gpt2, else U+0003.
std::string_view document_separator(TokensConfig::Vocabulary vocabulary);

// Reads and concatenates the files of config.text, plain or gzip. Each document of a file of
// documents begins with the separator, and so does each text file if documents are packed; for gpt2
// the separator always stands between text files. on_error: what to do about broken documents.
// Throws Error(data), naming file and byte, for invalid UTF-8, except with the vocabulary `bytes`,
// and what for_each_document() throws.
TokenText read_token_text(const TokensConfig& config,
                          DataConfig::OnError on_error = DataConfig::OnError::stop);

// Returns the end of a part that begins at byte `first` and has about `bytes` bytes. The text is
// cut where encoding its parts one by one gives the tokens of the whole text.
size_t end_of_part(const TokenText& text, size_t first, size_t bytes);

struct TextTokens : TokenText {  // its `text` is empty
  std::vector<int32_t> ids = {};
  int64_t unknown = 0;  // characters that were left out
};

// Calls read_token_text() and encodes the text.
TextTokens read_text_tokens(const TokensConfig& config,
                            DataConfig::OnError on_error = DataConfig::OnError::stop);
// The same with the vocabulary of a trained model, as make_vocabulary() reads it. Characters that
// it lacks are left out. Throws Error(data) for a text without any that it has.
TextTokens read_known_tokens(const TokensConfig& config, DataConfig::OnError on_error,
                             const std::string& vocabulary);

// Returns how many of `count` ids, at their end, are test data.
int64_t test_tokens(int64_t count, const TokensConfig& config);

// Returns the absolute path of a GPT-2 vocabulary: a folder or a tokenizer.json. The path "auto"
// searches standard_dataset_folders("gpt2"), and throws Error(data) if none has it.
std::filesystem::path find_bpe(const std::string& path);

}  // namespace spire
