// Memory of a device, and copies between it and the host's: plain memory for a CPU, the GPU's own
// for a GPU.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/device/device.h"

namespace spire::inline device {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  virtual void* data() const = 0;    // an address of the device, at workspace_alignment
  virtual bool on_host() const = 0;  // whether the host, too, can use that address

  // Copies of `bytes` from byte `offset` on, after all work that the device was given before; done
  // when they return.
  virtual void write(const void* host, size_t bytes, size_t offset = 0) = 0;
  virtual void read(void* host, size_t bytes, size_t offset = 0) const = 0;

  // `receipt` goes right after the memory has been given back.
  void keep(std::shared_ptr<void> receipt) { receipt_ = std::move(receipt); }

 protected:
  explicit DeviceMemory(size_t bytes) : bytes_(bytes) {}

 private:
  size_t bytes_;
  std::shared_ptr<void> receipt_;
};

// What a MemoryPool (memory_pool.h) is made of; the engine asks a pool, which counts. Zeros on a
// CPU, anything on a GPU. Throws Error(out_of_memory), and Error(device) for a GPU that is not
// there.
std::unique_ptr<DeviceMemory> allocate_memory(DeviceId device, size_t bytes);
std::unique_ptr<DeviceMemory> allocate_cuda_memory(int index, size_t bytes);

// On a GPU as the driver says it: what no program uses, and all there is. A CPU's is the host's
// memory that this process may have (host_memory.h).
struct DeviceSpace {
  std::optional<size_t> free;
  size_t total = 0;
  std::string limited_by = {};  // of a CPU: what leaves no more, as HostSpace has it
};
DeviceSpace space_of(DeviceId device);  // throws Error(device) for a GPU that is not there
DeviceSpace space_of_cuda(int index);

// Zeroed memory of the host that the device's streams copy from and to while the host goes on: for
// a GPU pinned. read() and write() are plain copies; they wait for nothing. Throws
// Error(out_of_memory) where the host has, or lets pin, no more.
std::unique_ptr<DeviceMemory> allocate_staging(DeviceId device, size_t bytes);
std::unique_ptr<DeviceMemory> allocate_cuda_staging(int index, size_t bytes);

}  // namespace spire::inline device
