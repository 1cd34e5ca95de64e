#include "engine/data/text/text_tokens.h"

#include <algorithm>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/input_file.h"
#include "engine/data/text/encoding.h"
#include "engine/data/text/jsonl.h"
#include "engine/data/text/vocabulary.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_text_bytes = size_t{1} << 34;

// Returns file and line of a byte: "kjv.txt:12: byte 345".
std::string place_in(std::string_view text, size_t byte, const fs::path& path) {
  auto line = 1 + std::ranges::count(text.substr(0, byte), '\n');
  return fmt::format("{}:{}: byte {}", path.string(), line, byte);
}

// Reads one file; throws for what is no text, and for invalid UTF-8 unless any bytes will do.
std::string read_text(const fs::path& path, bool any_bytes) {
  InputFile file(existing_input(path));
  std::string text = file.read_text(max_text_bytes);
  if (any_bytes) {
    refuse_other_kinds(file.path(), text);
    return text;
  }
  require_text(file.path(), text);
  if (auto bad = invalid_utf8(text))
    refuse_encoding(file.path(), place_in(text, *bad, file.path()),
                    std::string_view(text).substr(*bad), "; or set data.tokens.vocabulary: bytes");
  return text;
}

// Makes the vocabulary that data.tokens.vocabulary names.
std::unique_ptr<Vocabulary> vocabulary_for(const TokensConfig& config, std::string_view text) {
  if (config.vocabulary == TokensConfig::Vocabulary::gpt2)
    return read_bpe(find_bpe(config.bpe_path));
  return config.vocabulary == TokensConfig::Vocabulary::characters ? character_vocabulary(text)
                                                                   : byte_vocabulary();
}

// Returns true if a pretoken of GPT-2's pattern begins at `at` whatever surrounds it: within a
// pretoken no blank follows a visible character. The blank and what follows it are then split
// alike.
bool splits_pretokens(std::string_view text, size_t at) {
  char before = text[at - 1], behind = text[at];
  return before > ' ' && before < 0x7f && (behind == ' ' || behind == '\n');
}

// Returns true if a code point begins at `at`: continuation bytes of UTF-8 are 10xxxxxx.
bool begins_code(std::string_view text, size_t at) {
  return (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

}  // namespace

namespace {

// The files that data.tokens.text names: those in a folder in place of it.
std::vector<fs::path> text_files(const TokensConfig& config) {
  std::vector<fs::path> files;
  for (const std::string& path : config.text) {
    std::error_code error;
    bool folder = fs::is_directory(path, error);
    std::vector<fs::path> some = folder ? document_files(path) : std::vector<fs::path>{path};
    for (const fs::path& file : some) files.push_back(existing_input(file));
  }
  return files;
}

void add_documents(const fs::path& path, const TokensConfig& config, DataConfig::OnError on_error,
                   TokenText& result) {
  auto add = [&](const std::string& document) {
    result.text += document_separator(config.vocabulary);
    result.text += document;
  };
  for_each_document(path, config.field, add, [&](const Error& error) {
    if (on_error != DataConfig::OnError::skip) refuse_broken(error);
    if (result.skipped++ == 0) result.first_problem = error.what();
  });
}

}  // namespace

std::string_view document_separator(TokensConfig::Vocabulary vocabulary) {
  return vocabulary == TokensConfig::Vocabulary::gpt2 ? end_of_text : end_of_text_character;
}

TokenText read_token_text(const TokensConfig& config, DataConfig::OnError on_error) {
  bool gpt2 = config.vocabulary == TokensConfig::Vocabulary::gpt2;
  bool characters = config.vocabulary == TokensConfig::Vocabulary::characters;
  bool packed = config.documents == TokensConfig::Documents::packed;
  std::string_view separator = document_separator(config.vocabulary);
  TokenText result;
  for (const fs::path& path : text_files(config)) {
    if (holds_documents(path)) {
      add_documents(path, config, on_error, result);
    } else {
      if (packed || (gpt2 && !result.text.empty())) result.text += separator;
      result.text += read_text(path, !gpt2 && !characters);
    }
    result.files.push_back(path);
  }
  // Only now: the vocabulary `characters` is that of the whole text.
  if (result.text.empty())
    fail(Category::data, "{}: is empty{}; set data.tokens.text to files with text",
         fmt::join(config.text, ", "),
         result.skipped > 0
             ? fmt::format(" without its {}, of which the first is: {}",
                           counted(result.skipped, "broken document"), result.first_problem)
             : "");
  result.vocabulary = vocabulary_for(config, result.text);
  return result;
}

size_t end_of_part(const TokenText& text, size_t first, size_t bytes) {
  std::string_view all = text.text;
  bool pairs = text.vocabulary->name() == "gpt2";
  for (size_t at = first + std::max<size_t>(bytes, 1); at < all.size(); ++at)
    if (pairs ? splits_pretokens(all, at) : begins_code(all, at)) return at;
  return all.size();
}

TextTokens read_text_tokens(const TokensConfig& config, DataConfig::OnError on_error) {
  TextTokens tokens{read_token_text(config, on_error)};
  tokens.ids = tokens.vocabulary->encode(std::exchange(tokens.text, {}));
  return tokens;
}

TextTokens read_known_tokens(const TokensConfig& config, DataConfig::OnError on_error,
                             const std::string& vocabulary) {
  TextTokens tokens{read_token_text(config, on_error)};
  tokens.vocabulary = make_vocabulary(vocabulary);
  std::string known = tokens.vocabulary->known_part(std::exchange(tokens.text, {}), tokens.unknown);
  if (known.empty())
    fail(Category::data, "{}: the vocabulary of the training data has none of its characters",
         fmt::join(config.text, ", "));
  tokens.ids = tokens.vocabulary->encode(known);
  return tokens;
}

int64_t test_tokens(int64_t count, const TokensConfig& config) {
  return static_cast<int64_t>(static_cast<double>(count) * config.val_share);
}

fs::path find_bpe(const std::string& path) {
  if (path != "auto") return fs::absolute(path);
  std::string tried;
  for (const fs::path& folder : standard_dataset_folders("gpt2")) {
    // OpenAI's name of the file, then Hugging Face's.
    for (const char* name : {"encoder.json", "vocab.json", "tokenizer.json"})
      if (!find_input(folder / name).empty()) return fs::absolute(folder);
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", folder.string());
  }
  fail(Category::data,
       "there is no encoder.json, vocab.json or tokenizer.json in any of: {}; put GPT-2's "
       "vocabulary "
       "there, or set data.tokens.bpe_path",
       tried);
}

}  // namespace spire
