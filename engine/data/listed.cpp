#include "engine/data/listed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spire::inline data {
namespace {

// Bytes that would end or break a message's line as \x0a.
std::string shown(const std::string& name) {
  std::string text;
  for (char c : name) {
    auto code = static_cast<unsigned char>(c);
    text += code < 0x20 || code == 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, c);
  }
  return text;
}

}  // namespace

std::string listed(const std::vector<std::string>& names, size_t most) {
  if (names.empty()) return "none";
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() == most) break;
    some.push_back(fmt::format("'{}'", shown(name)));
  }
  std::string text = fmt::format("{}", fmt::join(some, ", "));
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

}  // namespace spire::inline data
