// UTF-8 (RFC 3629) to code points and back.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace spire::inline data {

// The code point at text[at], and `at` moves behind it. Nothing, and `at` stays, where the bytes
// are no UTF-8: a lone or missing continuation, an overlong form, a surrogate, beyond U+10FFFF.
std::optional<char32_t> next_code(std::string_view text, size_t& at);

void append_utf8(std::string& text, char32_t code);

// Where the first byte that is no UTF-8 stands; nothing for valid text.
std::optional<size_t> invalid_utf8(std::string_view text);

}  // namespace spire::inline data
