// Trials of an engine on an otherwise idle device: how long it takes, and whether its bits repeat.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/device_memory.h"
#include "engine/device/stream.h"
#include "kernels/kernel.h"

namespace spire {

// REQUIRES: in all calls the device is the calling thread's current one.
class EngineTrial {
 public:
  // Throws Error(out_of_memory), as allocate() does.
  explicit EngineTrial(DeviceId device);
  ~EngineTrial();

  // Allocate memory for the runs, which this owns: zeroed, or filled with numbers from -1 to 1.
  // (Zeros would hide that an order of additions varies, and let a GPU run at a higher clock.)
  void* allocate(size_t bytes);
  void* allocate_numbers(const TensorSpec& spec);

  // Calls `run`, which submits work to the stream. Returns the milliseconds that the work takes
  // with cold caches; none if `run` throws. Throws Error(device) if that left the device unusable.
  using Run = std::function<void(void* stream)>;
  std::optional<float> time(const Run& run);

  // Calls `run` twice. Returns true if both write the same bits to `result` (its first 32 MiB are
  // compared), which one of the calls above has allocated. Throws as time().
  bool repeats(const Run& run, const void* result);

 private:
  struct Events;

  bool submit(const Run& run);
  std::vector<std::byte> result_of(const Run& run, const DeviceMemory& result);

  DeviceId device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  void* flushed_;
  std::unique_ptr<Events> events_;
};

}  // namespace spire
