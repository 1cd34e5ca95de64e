// Vocabularies, which translate text to token ids and back: bytes, characters, and GPT-2's
// byte-pair encoding (Radford et al. 2019); and functions for UTF-8 (RFC 3629).
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// Encodes and decodes text, such that decode(encode(text)) == text. Immutable, hence thread-safe.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual std::string name() const = 0;  // bytes | characters | gpt2
  virtual int64_t size() const = 0;      // ids are in [0, size())

  // Throws Error(data), naming the byte, for text that has no token.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const int32_t> ids) const = 0;  // throws Error(data)
  // Returns the text without what encode() refuses: characters without a token, and invalid UTF-8
  // unless bytes have tokens. Adds the number of removed characters and bytes to `unknown`.
  std::string known_part(std::string_view text, int64_t& unknown) const;

  // Returns a text from which make_vocabulary() makes an equal vocabulary.
  virtual std::string to_text() const = 0;

 private:
  // code: nullopt for a byte that is no UTF-8.
  virtual bool has_token(std::optional<char32_t> code) const = 0;
};

std::unique_ptr<Vocabulary> byte_vocabulary();  // id = byte; encodes any text

// Makes a vocabulary of the code points in `text`, ascending. Throws Error(data) if it has none.
std::unique_ptr<Vocabulary> character_vocabulary(std::string_view text);

// Reads a GPT-2 vocabulary, whose encode() accepts only UTF-8, from the files of a folder:
// - encoder.json or vocab.json: {"token": id, ...}, ids 0 to n - 1, with a token for each byte;
// - vocab.bpe or merges.txt: one merge "left right" per line; the first was learnt first;
// or from a tokenizer.json of Hugging Face's tokenizers, given itself or in the folder. If the
// folder has all three, they must agree. Throws Error(data), naming the file and the place in it.
std::unique_ptr<Vocabulary> read_bpe(const std::filesystem::path& path);

// Makes a vocabulary from one of the texts "bytes", "characters:<JSON string of all characters>"
// and "gpt2:<path of read_bpe()>". Throws Error(data) for any other text, and for damaged files.
std::unique_ptr<Vocabulary> make_vocabulary(const std::string& text);

inline constexpr std::string_view end_of_text = "<|endoftext|>";  // a single token of GPT-2

// Pre-tokenizes a text: calls use() for each match of the pattern in GPT-2's encoder.py, in order:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// The matches are views of `text` and cover it. REQUIRES: `text` is valid UTF-8.
void for_each_pretoken(std::string_view text, const std::function<void(std::string_view)>& use);

// Returns the code point at text[at] and moves `at` past it; nullopt at the end, or if ill-formed.
std::optional<char32_t> next_code(std::string_view text, size_t& at);

void append_utf8(std::string& text, char32_t code);  // appends nothing for codes above U+10FFFF

// Returns the byte offset of the first ill-formed sequence; nullopt for valid text.
std::optional<size_t> invalid_utf8(std::string_view text);

}  // namespace spire
