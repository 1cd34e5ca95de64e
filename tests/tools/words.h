// Words of a command line, and parts that a text must have.
#pragma once
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace spire {

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Fails unless the text has each of the parts.
inline void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_THAT(text, ::testing::HasSubstr(part));
}

}  // namespace spire
