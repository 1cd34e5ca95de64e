// Memory of a device behind one interface: GPU memory, pinned host memory and plain host memory.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/device/device.h"

namespace spire {

// Alignments in bytes, the same on every device. tensor_alignment: of each tensor within an arena,
// a batch or a parameter buffer. workspace_alignment: of arenas (the allocations for all
// activations) and of scratch memory, as cuBLASLt and cuDNN require.
inline constexpr size_t tensor_alignment = 64;
inline constexpr size_t workspace_alignment = 256;

constexpr size_t align_up(size_t bytes, size_t alignment = tensor_alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class Buffer {  // host memory in whole pages, zeroed; huge pages if possible
 public:
  Buffer() {}
  explicit Buffer(size_t bytes);  // throws Error(out_of_memory), which names the size

  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(memory_.get());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(memory_.get());
  }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    size_t bytes;
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_{nullptr, Free{0}};
  size_t bytes_ = 0;
};

class DeviceMemory {  // one allocated block, freed on destruction
 public:
  virtual ~DeviceMemory() = default;

  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  virtual void* data() const = 0;    // address on the device, a multiple of workspace_alignment
  virtual bool on_host() const = 0;  // true if the host can use that address, too

  // Wait for all earlier work of the device, copy `bytes` to or from byte `offset`, and return when
  // the copy is done.
  virtual void write(const void* host, size_t bytes, size_t offset = 0) = 0;
  virtual void read(void* host, size_t bytes, size_t offset = 0) const = 0;

  // Keeps `owner` alive until right after the memory is freed.
  void attach(std::shared_ptr<void> owner) { owner_ = std::move(owner); }

 protected:
  explicit DeviceMemory(size_t bytes) : bytes_(bytes) {}

 private:
  size_t bytes_;
  std::shared_ptr<void> owner_;
};

// Allocates a block: zeroed on a CPU, undefined on a GPU. Throws Error(out_of_memory), and
// Error(device) if there is no such GPU. The engine allocates by MemoryPool, which calls this and
// counts the bytes.
std::unique_ptr<DeviceMemory> allocate_memory(DeviceId device, size_t bytes);
std::unique_ptr<DeviceMemory> allocate_cuda_memory(int index, size_t bytes);

// Memory of a device in bytes: the driver's numbers for a GPU, host_space() (topology.h) for a CPU.
struct DeviceSpace {
  std::optional<size_t> free;
  size_t total = 0;
  std::string limited_by = {};  // for a CPU: HostSpace::limited_by
};
DeviceSpace space_of(DeviceId device);  // throws Error(device) if there is no such GPU
DeviceSpace space_of_cuda(int index);

// Allocates staging memory: zeroed host memory for asynchronous copies, pinned for a GPU. Its
// read() and write() wait for nothing. Throws Error(out_of_memory).
std::unique_ptr<DeviceMemory> allocate_staging(DeviceId device, size_t bytes);
std::unique_ptr<DeviceMemory> allocate_cuda_staging(int index, size_t bytes);

}  // namespace spire
