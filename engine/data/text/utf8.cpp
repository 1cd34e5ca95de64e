#include "engine/data/text/utf8.h"

#include <array>

#include <utf8proc.h>

namespace spire::inline data {

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
  for (size_t at = 0; at < text.size();)
    if (!next_code(text, at)) return at;
  return {};
}

}  // namespace spire::inline data
