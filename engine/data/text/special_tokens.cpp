#include "engine/data/text/special_tokens.h"

#include <algorithm>
#include <utility>

namespace spire::inline data {

void SpecialTokens::add(SpecialToken token) {
  std::vector<SpecialToken>& tokens = by_first_byte_[static_cast<uint8_t>(token.text[0])];
  auto shorter = std::ranges::find_if(
      tokens, [&](const SpecialToken& other) { return other.text.size() < token.text.size(); });
  tokens.insert(shorter, std::move(token));
}

std::optional<SpecialTokens::Match> SpecialTokens::find(std::string_view text) const {
  for (size_t at = 0; at < text.size(); ++at)
    for (const SpecialToken& token : by_first_byte_[static_cast<uint8_t>(text[at])])
      if (text.substr(at).starts_with(token.text)) return Match{at, &token};
  return {};
}

std::vector<SpecialToken> SpecialTokens::all() const {
  std::vector<SpecialToken> tokens;
  for (const auto& each : by_first_byte_) tokens.insert(tokens.end(), each.begin(), each.end());
  std::ranges::sort(tokens, {}, &SpecialToken::text);
  return tokens;
}

}  // namespace spire::inline data
