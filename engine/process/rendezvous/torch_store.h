// A client of PyTorch's key-value store (TCPStore), which torchrun's agent serves at MASTER_ADDR
// and MASTER_PORT. Speaks the protocol of PyTorch 2.1 and later. The store has no passwords: every
// process that reaches it can read and write all of it.
#pragma once
#include <optional>
#include <string>

#include "engine/process/socket.h"

namespace spire::inline process {

class TorchStore {
 public:
  // Connects, with retries until the deadline. Throws Error(collective) with the address.
  TorchStore(const std::string& address, int port, Deadline deadline);

  // Both throw Error(collective) if the store is gone, or not a TCPStore.
  void set(const std::string& key, const std::string& value, Deadline deadline);
  // Returns nullopt if the key has not been set.
  std::optional<std::string> get(const std::string& key, Deadline deadline);

  const Socket& connection() const { return socket_; }

 private:
  Socket socket_;
};

}  // namespace spire::inline process
