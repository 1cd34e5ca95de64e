// Keys and values of the positions of texts that were read so far: one block of a device's memory,
// which lasts from run to run and which several plans share.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

namespace spire {
class DeviceMemory;
class MemoryPool;
class KeyValueCache {
 public:
  KeyValueCache();
  ~KeyValueCache();

  // Called by the kernels of each layer (from 0) when they are made, always with the same size; the
  // first time before allocate().
  void reserve(int layer, size_t bytes);
  size_t bytes() const;
  void allocate(MemoryPool& memory);  // call it before the first run

  template <typename T>
  T* layer(int layer) const {
    return static_cast<T*>(data(layer));
  }

 private:
  void* data(int layer) const;

  std::vector<size_t> sizes_, offsets_;  // of layers, in bytes
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace spire
