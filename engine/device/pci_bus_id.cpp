#include "engine/device/pci_bus_id.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace spire {
namespace {

// Takes a hexadecimal number of 1 to `digits` digits from the front of text; false if there is
// none.
bool take_number(std::string_view& text, size_t digits, uint32_t& number) {
  const char* end = text.data() + std::min(text.size(), digits);
  auto [rest, error] = std::from_chars(text.data(), end, number, 16);
  if (error != std::errc() || rest == text.data()) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string normal_pci_bus_id(std::string_view text) {
  bool has_domain = text.find(':') != text.rfind(':');
  uint32_t domain = 0, bus = 0, device = 0, function = 0;
  if (has_domain && !(take_number(text, 8, domain) && take(text, ':'))) return "";
  if (!take_number(text, 2, bus) || !take(text, ':') || !take_number(text, 2, device)) return "";
  if (take(text, '.') && !take_number(text, 1, function)) return "";
  if (!text.empty() || device > 31 || function > 7) return "";
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

}  // namespace spire
