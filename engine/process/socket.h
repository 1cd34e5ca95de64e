// TCP connections, socket pairs and listeners. No call blocks beyond its deadline.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spire::inline process {

using Deadline = std::chrono::steady_clock::time_point;

// Returns the milliseconds until the deadline, rounded up, at least 0: for poll().
int milliseconds_until(Deadline deadline);

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

  // Transfer all bytes. Throw Error(collective) if the peer closed, the connection broke, or the
  // deadline passed.
  void send_all(const void* data, size_t bytes, Deadline deadline);
  void receive_all(void* data, size_t bytes, Deadline deadline);

  // Return the IPv4 address of the other end and of this one; "" for a socket pair.
  std::string peer_address() const;
  std::string own_address() const;

  // Ends the connection in both directions, which releases threads that wait on it at either end.
  // Any thread.
  void shut_down() noexcept;

 private:
  int descriptor_ = -1;
};

// Returns both ends of a connection inside this machine.
std::pair<Socket, Socket> socket_pair();

// Returns an eventfd, by which one thread wakes another from poll(): notify() makes it readable.
Socket event_counter();
void notify(const Socket& event_counter) noexcept;

inline constexpr const char* loopback_address = "127.0.0.1";

class Listener {
 public:
  // port: 0 for any free one. address: the IPv4 address of one interface, "" for all. Throws
  // Error(device) if it is taken, forbidden, or not of this machine.
  explicit Listener(int port, const std::string& address = loopback_address);
  int port() const { return port_; }
  int descriptor() const { return socket_.descriptor(); }  // readable when a connection waits
  // Returns the next connection, or nullopt at the deadline, also if the system refuses each that
  // comes (as a firewall may). Throws Error(device) if no further file can be opened (ulimit -n).
  std::optional<Socket> accept(Deadline deadline);

 private:
  Socket socket_;
  int port_ = 0;
};

// Connects, with retries until the deadline, since the listener may start later. Throws
// Error(collective) with the address and the last reason.
Socket connect_to(const std::string& address, int port, Deadline deadline);

// Returns the IPv4 address of a host name or of a numeric address; nullopt if it is unknown.
std::optional<std::string> resolve_address(const std::string& name);
// Tells whether `address` is a numeric loopback address, such as 127.0.0.1.
bool is_loopback(const std::string& address);

// Returns the IPv4 addresses of this machine's interfaces, loopback last.
std::vector<std::string> own_addresses();
std::string host_name();

}  // namespace spire::inline process
