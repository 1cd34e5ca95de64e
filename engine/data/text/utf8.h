// Decodes, encodes and checks UTF-8 (RFC 3629), by the library utf8proc.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace spire::inline data {

// Returns the code point at text[at] and moves `at` behind it. Returns nothing and leaves `at`
// where the bytes are ill-formed: a lone or missing continuation byte, an overlong form, a
// surrogate, a value beyond U+10FFFF; and at the end of the text.
std::optional<char32_t> next_code(std::string_view text, size_t& at);

// Appends one code point; appends nothing beyond U+10FFFF.
void append_utf8(std::string& text, char32_t code);

// Returns the offset of the first byte of the first ill-formed sequence; nothing for valid text.
std::optional<size_t> invalid_utf8(std::string_view text);

}  // namespace spire::inline data
