// Text as token ids and back.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline data {

// Immutable: any thread may use it. decode(encode(text)) == text.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual std::string name() const = 0;  // bytes | characters | gpt2
  virtual int64_t size() const = 0;      // ids are in [0, size())

  // Throws Error(data), naming the byte of the text, for what has no token.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // Throws Error(data) for an id that is none.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;

  // What make_vocabulary() makes this vocabulary from again.
  virtual std::string to_text() const = 0;
};

// Id = byte: any text, 256 tokens.
std::unique_ptr<Vocabulary> byte_vocabulary();

// The different code points of `text`, in ascending order. Throws Error(data) for a text that is
// empty or no UTF-8.
std::unique_ptr<Vocabulary> character_vocabulary(std::string_view text);

// "bytes", "characters:" and a JSON string of all of them, or "gpt2:" and the folder of its files.
// Throws Error(data) for any other text, and for files that are broken.
std::unique_ptr<Vocabulary> make_vocabulary(const std::string& text);

}  // namespace spire::inline data
