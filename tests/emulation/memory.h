// Allocations of the emulated machine, and the pinned memory of the host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "devices.h"

namespace spire::emulation {

enum class Side { pageable, pinned, device };

struct Region {
  Side side = Side::pageable;
  int device = 0;  // of memory on a device
  size_t bytes = 0;
};

// Throws Refused. Not thread-safe.
class Memory {
 public:
  void* allocate(const Region& region);
  void release(void* start, Side side);
  void pin(void* start, size_t bytes);
  void unpin(void* start);

  // Returns the region of `bytes` from `address`. Throws Refused if they leave the region they
  // begin in.
  Region find(const void* address, size_t bytes) const;

  size_t left(int device) const;
  size_t limit(int device) const { return limit_[at(device)]; }
  void set_limit(int device, size_t bytes) { limit_[at(device)] = bytes; }
  size_t pinned() const { return pinned_; }
  size_t blocks() const { return regions_.size(); }
  size_t bytes() const;  // of all blocks
  void set_pinned_limit(size_t bytes) { pinned_limit_ = bytes; }

 private:
  // Addresses are kept inverted, so that AddressSanitizer does not take a leak for memory in use.
  static uintptr_t hidden(const void* address) { return ~reinterpret_cast<uintptr_t>(address); }

  static size_t at(int device) { return static_cast<size_t>(device); }
  bool has_room(const Region& region) const;

  std::map<uintptr_t, Region> regions_;
  size_t used_[max_devices] = {};
  std::vector<size_t> limit_ = std::vector(max_devices, size_t{16} << 30);
  size_t pinned_ = 0, pinned_limit_ = SIZE_MAX;  // bytes from allocate()
};

}  // namespace spire::emulation
