// Tokens that stand for a text wherever it occurs, before anything is split: <|endoftext|>.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline data {

struct SpecialToken {
  std::string text;
  int32_t id;
  bool operator==(const SpecialToken&) const = default;
};

class SpecialTokens {
 public:
  void add(SpecialToken token);  // REQUIRES: token.text is not empty

  struct Match {
    size_t begin;
    const SpecialToken* token;
  };
  // Returns the first match in `text`; the longest of those that begin there.
  std::optional<Match> find(std::string_view text) const;

  std::vector<SpecialToken> all() const;  // in ascending order of the text

 private:
  std::array<std::vector<SpecialToken>, 256> by_first_byte_;  // each: longest first
};

}  // namespace spire::inline data
