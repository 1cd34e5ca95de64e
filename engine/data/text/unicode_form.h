// Compares names that may be written in two Unicode forms: macOS stores names of files with letters
// and accents apart (NFD), other systems and most programs together (NFC).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline data {

// Returns the text in the form NFC; what is no UTF-8 as it is.
std::string composed(std::string_view text);

// Returns the index of `name`, or else of the one name that differs only in Unicode form.
std::optional<size_t> find_name(const std::vector<std::string>& names, std::string_view name);

}  // namespace spire::inline data
