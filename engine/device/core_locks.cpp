#include "engine/device/core_locks.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>
#include <unistd.h>

namespace spire::inline device {
namespace {

// A socket that bears the name, or -1 and errno.
int hold(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A first byte of zero makes the name abstract; it is as long as the address says.
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0) return descriptor;
  int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

}  // namespace

std::string CoreLocks::take(std::span<const int> cores, std::string_view space) {
  size_t before = sockets_.size();
  for (int core : cores) {
    int descriptor = hold(fmt::format("{}/core/{}", space, core));
    if (descriptor >= 0) {
      sockets_.push_back(descriptor);
      continue;
    }
    int error = errno;
    for (; sockets_.size() > before; sockets_.pop_back()) close(sockets_.back());
    if (error == EADDRINUSE) return fmt::format("another Spire process uses core {}", core);
    return fmt::format("cores cannot be locked: {}", std::strerror(error));
  }
  return "";
}

void CoreLocks::release() {
  for (int descriptor : sockets_) close(descriptor);
  sockets_.clear();
}

}  // namespace spire::inline device
