// Keys and values of the positions of texts that were read so far: one block of a device's memory,
// which lasts from run to run and which several plans share.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/device/memory_pool.h"

namespace spire::inline kernels {

class KeyValueCache {
 public:
  // Called by the kernels of each layer (from 0) when they are made, always with the same size; the
  // first time before allocate().
  void reserve(int layer, size_t bytes);
  size_t bytes() const;
  void allocate(MemoryPool& memory);  // call it before the first run

  template <typename T>
  T* layer(int layer) const {
    return reinterpret_cast<T*>(memory_->as<std::byte>() + offsets_[static_cast<size_t>(layer)]);
  }

 private:
  std::vector<size_t> sizes_, offsets_;  // of layers, in bytes
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace spire::inline kernels
