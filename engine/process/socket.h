// TCP connections, socket pairs, listeners and addresses. No call blocks beyond its deadline.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace spire {

using Deadline = std::chrono::steady_clock::time_point;

int milliseconds_until(Deadline deadline);  // for poll(): rounded up, at least 0

// Returns the bytes of a value in memory, to be sent: all machines of a run have one byte order.
template <typename Value>
std::string bytes_of(const Value& value) {
  static_assert(std::has_unique_object_representations_v<Value>, "padding has no defined bytes");
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

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

  // Transfer all bytes. Throw Error(collective) at the deadline, or if the connection ends.
  void send_all(const void* data, size_t bytes, Deadline deadline);
  void receive_all(void* data, size_t bytes, Deadline deadline);

  std::string peer_address() const;  // IPv4; "" for a socket pair
  std::string own_address() const;

  // Ends the connection, which releases threads waiting on it at either end. Any thread may call
  // it.
  void shut_down() noexcept;

 private:
  int descriptor_ = -1;
};

std::pair<Socket, Socket> socket_pair();  // both ends of a connection inside this machine

Socket event_counter();  // an eventfd, by which notify() wakes a thread from poll()
void notify(const Socket& event_counter) noexcept;

inline constexpr const char* loopback_address = "127.0.0.1";

class Listener {
 public:
  // port: 0 for any free one. address: an IPv4 address of one interface; "" for all interfaces.
  // Throws Error(device) if the port is taken or forbidden, or the address is not this machine's.
  explicit Listener(int port, const std::string& address = loopback_address);
  int port() const { return port_; }
  int descriptor() const { return socket_.descriptor(); }  // readable when a connection waits
  // Returns the next connection; nullopt if the system accepts none by the deadline (a firewall may
  // refuse all). Throws Error(device) if no further file can be opened (ulimit -n).
  std::optional<Socket> accept(Deadline deadline);

 private:
  Socket socket_;
  int port_ = 0;
};

// A free, reserved loopback port: the system gives it only to a Listener that asks for its number.
class ReservedPort {
 public:
  ReservedPort();  // throws Error(device) if no port is free
  int number() const { return number_; }

 private:
  Socket socket_;
  int number_ = 0;
};

// Connects, with retries until the deadline. Throws Error(collective) with the last failure's
// reason.
Socket connect_to(const std::string& address, int port, Deadline deadline);

// Returns the IPv4 address of a host name or of a numeric address; nullopt if the name is unknown.
std::optional<std::string> resolve_address(const std::string& name);
bool is_loopback(const std::string& address);  // numeric, as 127.0.0.1; false for names

std::vector<std::string> own_addresses();  // this machine's IPv4 addresses, loopback last

}  // namespace spire
