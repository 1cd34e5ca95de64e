// Parses the addresses at which a run answers: monitor.prometheus and monitor.serve.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace spire {

struct ListenAddress {
  std::string host = "127.0.0.1";  // a name or an IPv4 address; 0.0.0.0: all interfaces
  int port = 0;                    // 0: any free one

  bool operator==(const ListenAddress&) const = default;
};

// Parses "HOST:PORT", or "PORT" of the loopback interface; returns nullopt for "none". Throws
// Error(config) for anything else.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace spire
