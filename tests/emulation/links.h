// Connections of an emulated communicator's ranks: one Unix socket to each other one.
#pragma once
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace spire::emulation {

class Links {
 public:
  Links() = default;
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Connects to the ranks that know `name`. Returns true when all are there, false if `quit` was
  // set or a peer is on the same device, with the reason in *why.
  bool connect(const std::string& name, int rank, int size, int device,
               const std::atomic<bool>& quit, std::string* why);

  // Send and receive as many bytes as possible without waiting. Return -1 if the peer is gone.
  ptrdiff_t send_some(int peer, const void* data, size_t bytes);
  ptrdiff_t receive_some(int peer, void* data, size_t bytes);

 private:
  std::vector<int> sockets_;  // by rank; -1 for this rank
};

}  // namespace spire::emulation
