#include "tools/supervisor/master_port.h"

#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

#include <unistd.h>

#include <spire/error.h>

namespace spire::tool {

MasterPort::MasterPort() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  int on = 1;
  setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  // With SO_REUSEADDR on both, a second socket may bind and listen as long as this one only binds.
  if (bind(descriptor_, generic, size) != 0 || getsockname(descriptor_, generic, &size) != 0) {
    int reason = errno;
    if (descriptor_ >= 0) close(descriptor_);
    fail(Category::device, "no free port for the ranks to meet at: {}", std::strerror(reason));
  }
  number_ = ntohs(address.sin_port);
}

MasterPort::~MasterPort() {
  close(descriptor_);
}

}  // namespace spire::tool
