// Host memory as the engine holds it: whole pages, zeroed, large ones on huge pages.
#pragma once
#include <cstddef>
#include <memory>

#include "engine/device/alignment.h"

namespace spire::inline device {

class Buffer {
 public:
  Buffer() {}
  explicit Buffer(size_t bytes);  // throws Error(out_of_memory) naming the size

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

}  // namespace spire::inline device
