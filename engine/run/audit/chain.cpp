#include "engine/run/audit/chain.h"

namespace spire {
namespace {

constexpr std::string_view key = ",\"chain\":\"", end = "\"}";

bool is_digest(std::string_view text) {
  return text.size() == digest_digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

std::string ChainState::text() const {
  return value.empty() ? "" : value + " " + root;
}

std::optional<ChainState> ChainState::parse(const std::string& text) {
  if (text.size() != 2 * digest_digits + 1 || text[digest_digits] != ' ') return {};
  ChainState state{text.substr(0, digest_digits), text.substr(digest_digits + 1)};
  if (!is_digest(state.value) || !is_digest(state.root)) return {};
  return state;
}

void chain_line(std::string& line, std::string& value) {
  value = next_value(value, line);
  line.pop_back();  // the closing brace
  line.append(key).append(value).append(end).push_back('\n');
}

std::optional<ChainedLine> split_chained(std::string_view line) {
  size_t tail = key.size() + digest_digits + end.size();
  if (line.size() < tail) return {};
  std::string_view text = line.substr(0, line.size() - tail), rest = line.substr(text.size());
  std::string_view value = rest.substr(key.size(), digest_digits);
  if (!rest.starts_with(key) || !rest.ends_with(end) || !is_digest(value)) return {};
  return ChainedLine{std::string(text) + "}", std::string(value)};
}

}  // namespace spire
