// Memory of a device: GPU memory, pinned host memory and plain host memory behind one interface.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/device/device.h"

namespace spire::inline device {

// Alignments in bytes, the same on every device, so that a plan does not depend on one: of each
// tensor in an arena, a batch or a parameter buffer; and of arenas and workspaces, as cuBLASLt and
// cuDNN require of each workspace that they are given.
inline constexpr size_t tensor_alignment = 64;
inline constexpr size_t workspace_alignment = 256;

// Returns `bytes` rounded up to a multiple of `alignment`.
constexpr size_t align_up(size_t bytes, size_t alignment = tensor_alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Host memory in whole zeroed pages; the kernel is asked for huge pages.
class Buffer {
 public:
  Buffer() {}
  explicit Buffer(size_t bytes);  // throws Error(out_of_memory) that names the size

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

// One block of device memory.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  virtual void* data() const = 0;    // device address, a multiple of workspace_alignment
  virtual bool on_host() const = 0;  // true if the host can use that address, too

  // Copy `bytes` to or from byte `offset`, after all work given to the device before. Return when
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

// Allocates a block: zeros on a CPU, undefined contents on a GPU. Throws Error(out_of_memory), and
// Error(device) if there is no such GPU. The engine allocates by a MemoryPool, which counts.
std::unique_ptr<DeviceMemory> allocate_memory(DeviceId device, size_t bytes);
std::unique_ptr<DeviceMemory> allocate_cuda_memory(int index, size_t bytes);

// Free and total memory of a device. On a GPU the driver's numbers; on a CPU the host memory that
// this process may use (host_memory.h).
struct DeviceSpace {
  std::optional<size_t> free;
  size_t total = 0;
  std::string limited_by = {};  // CPU: the tightest limit, as in HostSpace
};
DeviceSpace space_of(DeviceId device);  // throws Error(device) if there is no such GPU
DeviceSpace space_of_cuda(int index);

// Allocates zeroed host memory for asynchronous copies to and from the device: pinned for a GPU.
// read() and write() are plain copies and wait for nothing. Throws Error(out_of_memory) if the host
// has no more, or pins no more.
std::unique_ptr<DeviceMemory> allocate_staging(DeviceId device, size_t bytes);
std::unique_ptr<DeviceMemory> allocate_cuda_staging(int index, size_t bytes);

}  // namespace spire::inline device
