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

  // Joins the ranks that know `name`; returns when all are there, or false when `quit` was set or a
  // peer is on the same device, which *why says.
  bool connect(const std::string& name, int rank, int size, int device,
               const std::atomic<bool>& quit, std::string* why);

  // As many bytes as go or come now, none to wait for. -1: the peer is gone.
  ptrdiff_t send_some(int peer, const void* data, size_t bytes);
  ptrdiff_t receive_some(int peer, void* data, size_t bytes);

 private:
  std::vector<int> sockets_;  // by rank; -1 for oneself
};

}  // namespace spire::emulation
