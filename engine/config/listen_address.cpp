#include "engine/config/listen_address.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/config/scalar.h"

namespace spire {
namespace {

constexpr int64_t max_port = 65535;

bool is_port(std::string_view text) {
  bool digits = !text.empty() && text.size() <= 5 &&
                std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return digits && parse_integer(text) <= max_port;
}

// Names and IPv4 addresses have no colons.
bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

}  // namespace

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  if (text == "none") return {};
  ListenAddress address;
  std::string_view port = text;
  size_t colon = text.rfind(':');
  if (colon != text.npos) {
    address.host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (!is_host(address.host) || !is_port(port))
    fail(Category::config,
         "'{}' is no address; write HOST:PORT with a name or an IPv4 address (0.0.0.0: all "
         "interfaces), PORT for this machine alone (0: any free one, at most {}), or none",
         excerpt(text), max_port);
  address.port = static_cast<int>(parse_integer(port));
  return address;
}

}  // namespace spire
