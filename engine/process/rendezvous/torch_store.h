// A client of the key-value store of PyTorch (TCPStore), which torchrun's agent keeps at
// MASTER_ADDR and MASTER_PORT for the processes that it starts. Speaks what PyTorch has spoken
// since 2.1; the store knows no passwords: whoever reaches it can read and write all of it.
#pragma once
#include <optional>
#include <string>

#include "engine/process/socket.h"

namespace spire::inline process {

class TorchStore {
 public:
  // Connects, and again until the deadline. Throws Error(collective) naming the address.
  TorchStore(const std::string& address, int port, Deadline deadline);

  // Both throw Error(collective) when the store is gone, or is none.
  void set(const std::string& key, const std::string& value, Deadline deadline);
  // Nothing when the key has not been set.
  std::optional<std::string> get(const std::string& key, Deadline deadline);

  const Socket& connection() const { return socket_; }

 private:
  Socket socket_;
};

}  // namespace spire::inline process
