// Text for readers that take nothing but UTF-8.
#pragma once
#include <string>
#include <string_view>

namespace spire {

// Returns the text with U+FFFD in place of what is not UTF-8, as in the name of a file.
std::string valid_utf8(std::string_view text);

}  // namespace spire
