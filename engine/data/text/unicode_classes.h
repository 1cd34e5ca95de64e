// Classes of code points of Unicode 15.0, as regular expressions name them.
#pragma once

namespace spire::inline data {

bool is_letter(char32_t code);  // \p{L}
bool is_number(char32_t code);  // \p{N}
bool is_space(char32_t code);   // \s, the property White_Space

}  // namespace spire::inline data
