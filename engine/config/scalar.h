// Parses single values of a config, in which extra characters are an error. The parse functions
// throw Error(config) that says what was expected and what was found.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline config {

int64_t parse_integer(std::string_view text);    // decimal digits, sign allowed
uint64_t parse_unsigned(std::string_view text);  // decimal digits
double parse_number(std::string_view text);      // "0.1", "5e-4"; finite
double parse_duration(std::string_view text);    // seconds: "90", "90s", "10m", "1h30m", "2d"
bool parse_boolean(std::string_view text);       // "true", "false"

// Returns "unknown value 'adm'; must be one of: sgd, adam; did you mean 'adam'?"
std::string unknown_word(std::string_view word, const std::vector<std::string>& known);

std::string excerpt(std::string_view text);  // at most 60 characters, none of them control ones

}  // namespace spire::inline config
