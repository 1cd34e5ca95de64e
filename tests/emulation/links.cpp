#include "links.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace spire::emulation {
namespace {

constexpr auto between_attempts = std::chrono::milliseconds(1);

struct Introduction {
  int rank = 0, device = 0;
};

// In the abstract name space: nothing is left behind.
struct Address {
  sockaddr_un name = {};
  socklen_t length = 0;

  explicit Address(const std::string& text) {
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Address address_of(const std::string& name, int rank) {
  return Address("spire-" + name + "-" + std::to_string(rank));
}

int make_socket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int listen_as(const Address& address, int size) {
  int listener = make_socket();
  ::bind(listener, address.get(), address.length);
  ::listen(listener, size);
  return listener;
}

int connect_to(const Address& address, const std::atomic<bool>& quit) {
  int socket = make_socket();
  while (::connect(socket, address.get(), address.length) != 0) {
    if (quit) {
      ::close(socket);
      return -1;
    }
    std::this_thread::sleep_for(between_attempts);
  }
  return socket;
}

int accept_from(int listener, const std::atomic<bool>& quit) {
  pollfd wait = {listener, POLLIN, 0};
  while (!quit) {
    if (::poll(&wait, 1, 10) == 1) return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  }
  return -1;
}

ptrdiff_t moved(ptrdiff_t result) {
  bool later = result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return later ? 0 : result;
}

}  // namespace

Links::~Links() {
  for (int socket : sockets_) {
    if (socket >= 0) ::close(socket);
  }
}

// Each connects to the lower ranks and hears the higher ones.
bool Links::connect(const std::string& name, int rank, int size, int device,
                    const std::atomic<bool>& quit, std::string* why) {
  sockets_.assign(static_cast<size_t>(size), -1);
  int listener = listen_as(address_of(name, rank), size);
  bool whole = true;
  for (int i = 0; i + 1 < size && whole; ++i) {
    int socket = i < rank ? connect_to(address_of(name, i), quit) : accept_from(listener, quit);
    Introduction mine{rank, device}, theirs;
    whole = socket >= 0 && ::send(socket, &mine, sizeof mine, MSG_NOSIGNAL) == sizeof mine &&
            ::recv(socket, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs;
    if (!whole) {
      if (socket >= 0) ::close(socket);
      break;
    }
    sockets_[static_cast<size_t>(theirs.rank)] = socket;
    ::fcntl(socket, F_SETFL, O_NONBLOCK);
    if (theirs.device == device) {
      *why = "Duplicate GPU detected : rank " + std::to_string(rank) + " and rank " +
             std::to_string(theirs.rank) + " both on CUDA device " + std::to_string(device);
      whole = false;
    }
  }
  ::close(listener);
  return whole;
}

ptrdiff_t Links::send_some(int peer, const void* data, size_t bytes) {
  // Bytes of this process behind which its collectives hang.
  static const char* most = std::getenv("EMULATED_NCCL_BYTES");
  static std::atomic<size_t> sent{0};
  if (most && sent >= std::strtoull(most, nullptr, 10)) return 0;
  ptrdiff_t now = moved(::send(sockets_[static_cast<size_t>(peer)], data, bytes, MSG_NOSIGNAL));
  if (now > 0) sent += static_cast<size_t>(now);
  return now;
}

ptrdiff_t Links::receive_some(int peer, void* data, size_t bytes) {
  ptrdiff_t result = ::recv(sockets_[static_cast<size_t>(peer)], data, bytes, 0);
  return result == 0 ? -1 : moved(result);
}

}  // namespace spire::emulation
