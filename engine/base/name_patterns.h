// Patterns of names, as in a shell: "layer1.*" names all parameters that begin so. '*' stands for
// any characters, '?' for one, [ab] for one of a list, and a backslash takes the next as it is.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace spire {

bool matches(const std::string& pattern, const std::string& name);

// Returns the index of the first pattern that matches; none if no pattern does.
std::optional<size_t> first_match(const std::vector<std::string>& patterns,
                                  const std::string& name);

// Throws Error(config) for a pattern that matches none of the names. key: the config key of the
// patterns, for the message, which lists all names, or of many those most like the pattern.
void require_matches(const std::string& key, const std::vector<std::string>& patterns,
                     const std::vector<std::string>& names);

}  // namespace spire
