// A TCP connection (or one half of a socket pair), and a place to listen. Nothing here blocks
// without a limit.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spire::inline process {

using Deadline = std::chrono::steady_clock::time_point;

// Owns a file descriptor, non-blocking and close-on-exec.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor);
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

  // All bytes or an Error(collective): the peer closed, the connection broke, the deadline passed.
  void send_all(const void* data, size_t bytes, Deadline deadline);
  void receive_all(void* data, size_t bytes, Deadline deadline);

  // The IPv4 addresses at the other end and at this one; empty for half of a pair.
  std::string peer_address() const;
  std::string own_address() const;

  // Ends the connection in both directions; whoever waits on it, here or there, is released. Any
  // thread.
  void shut_down() noexcept;

 private:
  int descriptor_ = -1;
};

// Both ends of a connection inside this machine.
std::pair<Socket, Socket> socket_pair();

inline constexpr const char* kLoopback = "127.0.0.1";

class Listener {
 public:
  // port 0: any free one. address: of one of this machine's interfaces, as text; "" stands for all.
  // Throws Error(device) when it is taken, forbidden, or not this machine's.
  explicit Listener(int port, const std::string& address = kLoopback);
  int port() const { return port_; }
  int descriptor() const { return socket_.descriptor(); }  // to poll: readable when one comes
  // The next connection, or nothing when the deadline passed, even if the system refuses each that
  // comes (as a firewall's rules may). Throws Error(device) where this process or the machine may
  // have no further one (ulimit -n).
  std::optional<Socket> accept(Deadline deadline);

 private:
  Socket socket_;
  int port_ = 0;
};

// Tries until the deadline, for the listener may come up later; then Error(collective) with the
// address and the last reason.
Socket connect_to(const std::string& address, int port, Deadline deadline);

// The IPv4 address of a name, or of an address as text; nothing when it is not known.
std::optional<std::string> resolve_address(const std::string& name);
// Whether it is an address that only this machine reaches: 127.0.0.1 and its like. No name is one,
// whatever it begins with.
bool is_loopback(const std::string& address);

// IPv4 addresses of this machine's interfaces, loopback last.
std::vector<std::string> own_addresses();
std::string host_name();

}  // namespace spire::inline process
