// Memory of a device, and copies between it and the host's: plain memory for a CPU, the GPU's own
// for a GPU.
#pragma once
#include <cstddef>
#include <memory>

#include <spire/device/device.h>

namespace spire {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  virtual void* data() const = 0;    // an address of the device, aligned to 64 bytes
  virtual bool on_host() const = 0;  // whether the host, too, can use that address

  // Copies of the first `bytes`, after all work that the device was given before; done when they
  // return.
  virtual void write(const void* host, size_t bytes) = 0;
  virtual void read(void* host, size_t bytes) const = 0;

 protected:
  explicit DeviceMemory(size_t bytes) : bytes_(bytes) {}

 private:
  size_t bytes_;
};

// Zeros on a CPU, anything on a GPU. Throws Error(out_of_memory), and Error(device) for a GPU that
// is not there.
std::unique_ptr<DeviceMemory> allocate_memory(DeviceId device, size_t bytes);
std::unique_ptr<DeviceMemory> allocate_cuda_memory(int index, size_t bytes);

// Zeroed memory of the host that the device's streams copy from and to while the host goes on: for
// a GPU pinned. read() and write() are plain copies; they wait for nothing.
std::unique_ptr<DeviceMemory> allocate_staging(DeviceId device, size_t bytes);
std::unique_ptr<DeviceMemory> allocate_cuda_staging(int index, size_t bytes);

}  // namespace spire
