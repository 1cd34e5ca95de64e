// Parses values of a config: booleans, memory limits and addresses. The parse functions take the
// whole text as one value, and throw Error(config) with what was expected and what was found.
// <spire/load_config.h> has the parse functions of numbers.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/load_config.h>

namespace spire {

bool parse_boolean(std::string_view text);  // "true", "false"

// Returns "unknown value 'adm'; must be one of: sgd, adam; did you mean 'adam'?"
std::string unknown_word(std::string_view word, const std::vector<std::string>& known);

std::string excerpt(std::string_view text);  // for messages: at most 60 characters, all printable

// Limit of the device memory that a run may use (memory.limit).
struct MemoryLimit {
  std::optional<double> fraction;  // of the device's memory, in (0, 1]
  std::optional<size_t> bytes;     // no limit if neither is set

  // Returns the limit of each of `sharers` devices that share `total` bytes; nullopt for no limit.
  std::optional<size_t> share(size_t total, size_t sharers) const;
};

// Parses "auto", a fraction ("0.5", "1"), or bytes with their unit ("20GiB", "1.5 GB", "512MiB").
// Throws Error(config) for anything else.
MemoryLimit parse_memory_limit(std::string_view text);

// The address at which a run answers: monitor.prometheus and monitor.serve.
struct ListenAddress {
  std::string host = "127.0.0.1";  // a name or an IPv4 address; 0.0.0.0: all interfaces
  int port = 0;                    // 0: any free one

  bool operator==(const ListenAddress&) const = default;
};

// Parses "HOST:PORT", or "PORT" of the loopback interface; returns nullopt for "none". Throws
// Error(config) for anything else.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace spire
