// Words of a command line.
#pragma once
#include <string>
#include <vector>

namespace spire {

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace spire
