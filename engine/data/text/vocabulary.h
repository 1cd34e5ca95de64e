// Vocabularies: text to token ids and back.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline data {

// Encodes and decodes text: decode(encode(text)) == text. Immutable: any thread may use it.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual std::string name() const = 0;  // bytes | characters | gpt2
  virtual int64_t size() const = 0;      // ids are in [0, size())

  // Throws Error(data), naming the byte of the text, where there is no token for it.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // Throws Error(data) for an id out of range.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;

  // Returns the text from which make_vocabulary() makes this vocabulary again.
  virtual std::string to_text() const = 0;
};

// Makes the vocabulary of the 256 bytes, id = byte. It encodes any text.
std::unique_ptr<Vocabulary> byte_vocabulary();

// Makes the vocabulary of the code points that occur in `text`, in ascending order. Throws
// Error(data) for a text that is empty or invalid UTF-8.
std::unique_ptr<Vocabulary> character_vocabulary(std::string_view text);

// Makes a vocabulary from "bytes", "characters:" and a JSON string of all of them, or "gpt2:" and
// the folder of its files. Throws Error(data) for any other text, and for broken files.
std::unique_ptr<Vocabulary> make_vocabulary(const std::string& text);

}  // namespace spire::inline data
