// Patterns of names, as in a shell: "layer1.*" matches all names that begin with "layer1.". '*'
// stands for any characters, '?' for one, [ab] for one of a list; a backslash makes the next
// character literal.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace spire {

bool matches(const std::string& pattern, const std::string& name);

// Returns the index of the first pattern that matches; none if no pattern does.
std::optional<size_t> first_match(const std::vector<std::string>& patterns,
                                  const std::string& name);

// Throws Error(config) for a pattern that matches none of the names. The message begins with `key`,
// the config key of the patterns, and lists all names, or of many those most like the pattern.
void require_matches(const std::string& key, const std::vector<std::string>& patterns,
                     const std::vector<std::string>& names);

}  // namespace spire
