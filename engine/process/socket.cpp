#include "engine/process/socket.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>

#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

// Waits for `events`; false at the deadline. poll() may end early, by a signal or its rounding.
bool wait_for(int descriptor, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{descriptor, events, 0};
    int ready = poll(&entry, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) fail(Category::collective, "poll: {}", strerror(errno));
  }
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// Tells whether accept() failed for want of descriptors or memory, not because of the connection.
bool lacks_room(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

void wait_or_fail(int descriptor, short events, Deadline deadline) {
  if (!wait_for(descriptor, events, deadline))
    fail(Category::collective, "the other end does not answer");
}

int stream_socket() {
  int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  if (descriptor < 0) fail(Category::device, "cannot make a socket: {}", system_reason(errno));
  return descriptor;
}

// Turns Nagle's algorithm off: messages are written whole, so delaying them gains nothing.
void disable_delay(const Socket& socket) {
  int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Resolves a name by getaddrinfo() with its flags.
std::optional<sockaddr_in> resolve(const std::string& address, int port, int flags = 0) {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0 || !found) return {};
  sockaddr_in result;
  std::memcpy(&result, found->ai_addr, sizeof result);
  freeaddrinfo(found);
  result.sin_port = htons(static_cast<uint16_t>(port));
  return result;
}

std::string to_text(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = {};
  if (address.sin_family == AF_INET) inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

// Binds a socket, to any free port if `port` is 0; returns the port, or 0 with errno set. A port
// whose last connections still linger (TIME_WAIT) can be bound again.
int bind_to(const Socket& socket, in_addr address, int port) {
  int on = 1;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_addr = address;
  target.sin_port = htons(static_cast<uint16_t>(port));
  auto generic = reinterpret_cast<sockaddr*>(&target);
  socklen_t size = sizeof target;
  bool bound = bind(socket.descriptor(), generic, size) == 0 &&
               getsockname(socket.descriptor(), generic, &size) == 0;
  return bound ? ntohs(target.sin_port) : 0;
}

// Makes one attempt; returns the error number, or 0 with `socket` connected.
int try_connect(const sockaddr_in& address, Deadline deadline, Socket& socket) {
  Socket attempt(stream_socket());
  auto generic = reinterpret_cast<const sockaddr*>(&address);
  if (connect(attempt.descriptor(), generic, sizeof address) != 0) {
    // A non-blocking connect: its result is SO_ERROR once the socket is writable.
    if (errno != EINPROGRESS) return errno;
    if (!wait_for(attempt.descriptor(), POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(attempt.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  disable_delay(attempt);
  socket = std::move(attempt);
  return 0;
}

}  // namespace

// Rounded down, a poll() would spin through the last millisecond.
int milliseconds_until(Deadline deadline) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

Socket::Socket(int descriptor) : descriptor_(descriptor) {
  fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
  fcntl(descriptor_, F_SETFL, O_NONBLOCK);
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void Socket::send_all(const void* data, size_t bytes, Deadline deadline) {
  auto from = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t sent = send(descriptor_, from, bytes, MSG_NOSIGNAL);  // no SIGPIPE
    if (sent > 0) {
      from += sent;
      bytes -= static_cast<size_t>(sent);
    } else if (sent < 0 && would_block()) {
      wait_or_fail(descriptor_, POLLOUT, deadline);
    } else {
      fail(Category::collective, "the connection broke: {}", strerror(errno));
    }
  }
}

void Socket::receive_all(void* data, size_t bytes, Deadline deadline) {
  auto to = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t received = recv(descriptor_, to, bytes, 0);
    if (received > 0) {
      to += received;
      bytes -= static_cast<size_t>(received);
    } else if (received == 0) {
      fail(Category::collective, "the connection was closed");
    } else if (would_block()) {
      wait_or_fail(descriptor_, POLLIN, deadline);
    } else {
      fail(Category::collective, "the connection broke: {}", strerror(errno));
    }
  }
}

std::string Socket::peer_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  // A socket pair has no IPv4 address: to_text() gives "".
  bool known = getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return known ? to_text(address) : "";
}

std::string Socket::own_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  bool known = getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return known ? to_text(address) : "";
}

void Socket::shut_down() noexcept {
  if (descriptor_ >= 0) shutdown(descriptor_, SHUT_RDWR);
}

std::pair<Socket, Socket> socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    fail(Category::device, "cannot make a socket pair: {}", system_reason(errno));
  return {Socket(ends[0]), Socket(ends[1])};
}

Socket event_counter() {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) fail(Category::device, "cannot make an eventfd: {}", system_reason(errno));
  return Socket(descriptor);
}

// A failed write means a full counter, which is readable already.
void notify(const Socket& event_counter) noexcept {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(event_counter.descriptor(), &one, sizeof one);
}

Listener::Listener(int port, const std::string& address) : socket_(stream_socket()) {
  in_addr own{htonl(INADDR_ANY)};
  if (!address.empty() && inet_pton(AF_INET, address.c_str(), &own) != 1)
    fail(Category::device, "cannot listen on '{}', which is no IPv4 address", address);
  port_ = bind_to(socket_, own, port);
  if (port_ == 0 || listen(socket_.descriptor(), 1024) != 0)
    fail(Category::device, "cannot listen on port {}{}: {}", port,
         address.empty() ? "" : " of " + address, strerror(errno));
}

// With SO_REUSEADDR on both sockets a Listener may bind the port, too, and listen on it as long as
// this one only binds.
ReservedPort::ReservedPort() : socket_(stream_socket()) {
  number_ = bind_to(socket_, {htonl(INADDR_LOOPBACK)}, 0);
  if (number_ == 0)
    fail(Category::device, "no free port for the ranks to meet at: {}", strerror(errno));
}

std::optional<Socket> Listener::accept(Deadline deadline) {
  while (wait_for(socket_.descriptor(), POLLIN, deadline)) {
    int descriptor = ::accept(socket_.descriptor(), nullptr, nullptr);
    if (descriptor < 0 && lacks_room(errno))  // the connection would stay in the queue for ever
      fail(Category::device, "no connection can be taken on port {}: {}", port_,
           system_reason(errno));
    if (descriptor >= 0) {
      Socket accepted(descriptor);
      disable_delay(accepted);
      return accepted;
    }
    // The connection is gone, or refused. A refused one stays in the queue, so poll() returns at
    // once: without this pause the loop would take a whole core.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (Clock::now() >= deadline) break;
  }
  return {};
}

// Tries again after each failure, since the listener may start later, with longer pauses.
Socket connect_to(const std::string& address, int port, Deadline deadline) {
  std::string reason = "the name is not known";
  auto wait = std::chrono::milliseconds(10);
  for (;;) {
    if (auto target = resolve(address, port)) {
      Socket socket;
      int error = try_connect(*target, deadline, socket);
      if (error == 0) return socket;
      reason = strerror(error);
    }
    if (Clock::now() + wait >= deadline)
      fail(Category::collective, "no connection to {}:{}: {}", address, port, reason);
    std::this_thread::sleep_for(wait);
    wait = std::min(wait * 2, std::chrono::milliseconds(500));
  }
}

std::optional<std::string> resolve_address(const std::string& name) {
  auto address = resolve(name, 0);
  return address ? std::optional(to_text(*address)) : std::nullopt;
}

bool is_loopback(const std::string& address) {
  auto number = resolve(address, 0, AI_NUMERICHOST);
  return number && ntohl(number->sin_addr.s_addr) >> 24 == 127;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {"127.0.0.1"};
  for (ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    bool usable = entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET &&
                  (entry->ifa_flags & IFF_UP) && !(entry->ifa_flags & IFF_LOOPBACK);
    if (!usable) continue;
    char text[INET_ADDRSTRLEN];
    auto address = reinterpret_cast<sockaddr_in*>(entry->ifa_addr);
    addresses.emplace_back(inet_ntop(AF_INET, &address->sin_addr, text, sizeof text));
  }
  freeifaddrs(list);
  addresses.emplace_back("127.0.0.1");
  return addresses;
}

}  // namespace spire
