#include "engine/base/name_patterns.h"

#include <algorithm>

#include <fnmatch.h>

#include <spire/error.h>
#include <spire/text.h>

namespace spire {

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::optional<size_t> first_match(const std::vector<std::string>& patterns,
                                  const std::string& name) {
  for (size_t i = 0; i < patterns.size(); ++i)
    if (matches(patterns[i], name)) return i;
  return std::nullopt;
}

void require_matches(const std::string& key, const std::vector<std::string>& patterns,
                     const std::vector<std::string>& names) {
  for (const std::string& pattern : patterns) {
    bool found =
        std::ranges::any_of(names, [&](const std::string& name) { return matches(pattern, name); });
    if (found) continue;
    fail(Category::config, "{}: '{}' matches none of {}{}", key, printable(pattern),
         quoted_list(names), did_you_mean(nearest(pattern, names)));
  }
}

}  // namespace spire
