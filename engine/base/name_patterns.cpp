#include "engine/base/name_patterns.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include <fnmatch.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"

namespace spire {
namespace {

constexpr size_t most_listed = 32;  // names in a message

// The letters of the pattern's words that the name has, too: 4 for head.* and model.head.weight.
size_t likeness(const std::string& pattern, const std::string& name) {
  auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  size_t letters = 0;
  for (auto begin = pattern.begin(); begin != pattern.end();) {
    begin = std::find_if(begin, pattern.end(), is_part);
    auto end = std::find_if_not(begin, pattern.end(), is_part);
    std::string word(begin, end);
    if (!word.empty() && name.find(word) != name.npos) letters += word.size();
    begin = end;
  }
  return letters;
}

// All names, in their order; of many those first that are most like the pattern.
std::vector<std::string> likest(const std::string& pattern, std::vector<std::string> names) {
  if (names.size() > most_listed)
    std::ranges::stable_sort(names, std::greater(),
                             [&](const std::string& name) { return likeness(pattern, name); });
  return names;
}

}  // namespace

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
    fail(Category::config, "{}: '{}' matches none of {}{}{}", key, printable(pattern),
         names.size() <= most_listed ? "" : fmt::format("{} names, such as ", names.size()),
         quoted_list(likest(pattern, names), most_listed), did_you_mean(nearest(pattern, names)));
  }
}

}  // namespace spire
