// Parses booleans and words of a config, in which extra characters are an error. The parse
// functions throw Error(config) that says what was expected and what was found.
// <spire/config_text.h> has those of numbers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <spire/load_config.h>

namespace spire {

bool parse_boolean(std::string_view text);  // "true", "false"

// Returns "unknown value 'adm'; must be one of: sgd, adam; did you mean 'adam'?"
std::string unknown_word(std::string_view word, const std::vector<std::string>& known);

std::string excerpt(std::string_view text);  // at most 60 characters, none of them control ones

}  // namespace spire
