#include "engine/data/text/utf8.h"

#include <array>
#include <cstdint>

namespace spire::inline data {
namespace {

// A form of `bytes` bytes: the first byte's high bits, and the least code point it is for.
struct Form {
  uint8_t mask, lead;
  size_t bytes;
  char32_t least;
};
constexpr std::array<Form, 4> forms = {
    {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}}};

bool is_scalar(char32_t code) {
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

}  // namespace

std::optional<char32_t> next_code(std::string_view text, size_t& at) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  for (const Form& form : forms) {
    if ((byte(0) & form.mask) != form.lead) continue;
    if (text.size() - at < form.bytes) return {};
    char32_t code = byte(0) & static_cast<uint8_t>(~form.mask);
    for (size_t i = 1; i < form.bytes; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return {};
      code = code << 6 | (byte(i) & 0x3f);
    }
    if (code < form.least || !is_scalar(code)) return {};
    at += form.bytes;
    return code;
  }
  return {};
}

void append_utf8(std::string& text, char32_t code) {
  size_t form = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  size_t rest = forms[form].bytes - 1;
  text += static_cast<char>(forms[form].lead | code >> (6 * rest));
  for (size_t i = rest; i-- > 0;) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
}

std::optional<size_t> invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();)
    if (!next_code(text, at)) return at;
  return {};
}

}  // namespace spire::inline data
