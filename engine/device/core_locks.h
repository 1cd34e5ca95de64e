// Which cores some Spire process of this host has pinned lanes to. Two runs that are given the same
// cores would else both pin to the first of them.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline device {

// A lock is a name in the system's table of Unix sockets ("abstract": in no folder). So it holds
// between all users and sessions of a host, needs no directory that they share, and ends with the
// process, however that ends. Containers with a network of their own do not see each other's.
class CoreLocks {
 public:
  CoreLocks() = default;
  ~CoreLocks() { release(); }
  CoreLocks(const CoreLocks&) = delete;
  CoreLocks& operator=(const CoreLocks&) = delete;

  // Locks all of these cores besides those it has, or none. What is wrong, "another Spire process
  // has core 3"; empty: nothing. space: of whose cores; tests have their own.
  std::string take(std::span<const int> cores, std::string_view space = "spire");
  void release();

 private:
  std::vector<int> sockets_;
};

}  // namespace spire::inline device
