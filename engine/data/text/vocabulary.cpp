#include "engine/data/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>
#include <utf8proc.h>

#include "engine/base/fail.h"

namespace spire {
namespace {

constexpr std::string_view characters_prefix = "characters:", bpe_prefix = "gpt2:";

void check_id(int32_t id, int64_t size) {
  if (id < 0 || id >= size)
    fail(Category::data,
         "token {} is not in the vocabulary, which has 0 to {}; use the vocabulary that the tokens "
         "were made with",
         id, size - 1);
}

// Encodes bytes: an id is the byte's value.
class ByteVocabulary : public Vocabulary {
 public:
  std::string name() const override { return "bytes"; }
  int64_t size() const override { return 256; }
  std::string to_text() const override { return "bytes"; }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size());
    for (char c : text) ids.push_back(static_cast<uint8_t>(c));
    return ids;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (int32_t id : ids) {
      check_id(id, size());
      text += static_cast<char>(id);
    }
    return text;
  }

 private:
  bool has_token(std::optional<char32_t>) const override { return true; }
};

// Calls use(code, byte) for each code point; throws for invalid UTF-8.
template <typename Use>
void for_each_code(std::string_view text, Use&& use) {
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    std::optional<char32_t> code = next_code(text, at);
    if (!code)
      fail(Category::data,
           "byte {}: is not UTF-8; convert the text, or set data.tokens.vocabulary: bytes", begin);
    use(*code, begin);
  }
}

// Encodes code points: an id is the position in their sorted list.
class CharacterVocabulary : public Vocabulary {
 public:
  explicit CharacterVocabulary(std::vector<char32_t> codes) : codes_(std::move(codes)) {
    for (char32_t code : codes_) ids_.emplace(code, static_cast<int32_t>(ids_.size()));
  }

  std::string name() const override { return "characters"; }
  int64_t size() const override { return std::ssize(codes_); }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    for_each_code(text, [&](char32_t code, size_t at) {
      auto found = ids_.find(code);
      if (found == ids_.end())
        fail(Category::data, "byte {}: the character U+{:04X} is not in the vocabulary of {}", at,
             static_cast<uint32_t>(code), size());
      ids.push_back(found->second);
    });
    return ids;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (int32_t id : ids) {
      check_id(id, size());
      append_utf8(text, codes_[static_cast<size_t>(id)]);
    }
    return text;
  }

  std::string to_text() const override {
    std::string all;
    for (char32_t code : codes_) append_utf8(all, code);
    return std::string(characters_prefix) + nlohmann::json(all).dump();
  }

 private:
  bool has_token(std::optional<char32_t> code) const override {
    return code && ids_.contains(*code);
  }

  std::vector<char32_t> codes_;  // ascending
  std::unordered_map<char32_t, int32_t> ids_;
};

// Parses what follows "characters:" in to_text(). Order is checked, as ids depend on it.
std::unique_ptr<Vocabulary> characters_from_text(std::string_view text) {
  nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_string())
    fail(Category::data, "vocabulary: damaged: characters: is not followed by a JSON string");
  std::vector<char32_t> codes;
  for_each_code(list.get<std::string>(), [&](char32_t code, size_t) { codes.push_back(code); });
  if (codes.empty() || std::ranges::adjacent_find(codes, std::greater_equal<>()) != codes.end())
    fail(Category::data, "vocabulary: damaged: its characters are not in ascending order");
  return std::make_unique<CharacterVocabulary>(std::move(codes));
}

}  // namespace

std::string Vocabulary::known_part(std::string_view text, int64_t& unknown) const {
  std::string known;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    std::optional<char32_t> code = next_code(text, at);
    if (!code) at = begin + 1;
    if (has_token(code)) {
      known += text.substr(begin, at - begin);
    } else {
      ++unknown;
    }
  }
  return known;
}

std::unique_ptr<Vocabulary> byte_vocabulary() {
  return std::make_unique<ByteVocabulary>();
}

std::unique_ptr<Vocabulary> character_vocabulary(std::string_view text) {
  std::vector<bool> seen(0x110000);  // one bit for each code point of Unicode
  for_each_code(text, [&](char32_t code, size_t) { seen[code] = true; });
  std::vector<char32_t> codes;
  for (char32_t code = 0; code < seen.size(); ++code)
    if (seen[code]) codes.push_back(code);
  if (codes.empty())
    fail(Category::data,
         "the text is empty; a vocabulary needs characters, give a text that has some");
  return std::make_unique<CharacterVocabulary>(std::move(codes));
}

std::unique_ptr<Vocabulary> make_vocabulary(const std::string& text) {
  if (text == "bytes") return byte_vocabulary();
  if (text.starts_with(characters_prefix))
    return characters_from_text(std::string_view(text).substr(characters_prefix.size()));
  if (text.starts_with(bpe_prefix)) return read_bpe(text.substr(bpe_prefix.size()));
  fail(Category::data,
       "vocabulary: damaged: it begins with '{}', expected one of: bytes, characters:..., "
       "gpt2:<path>",
       text.substr(0, 20));
}

std::optional<char32_t> next_code(std::string_view text, size_t& at) {
  utf8proc_int32_t code = 0;
  utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                       static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  if (bytes <= 0) return {};
  at += static_cast<size_t>(bytes);
  return static_cast<char32_t>(code);
}

void append_utf8(std::string& text, char32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(count));
}

std::optional<size_t> invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {  // most text is ASCII
      ++at;
    } else if (!next_code(text, at)) {
      return at;
    }
  }
  return {};
}

}  // namespace spire
