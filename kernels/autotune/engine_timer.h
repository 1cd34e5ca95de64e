// Timer for runs of an engine on an otherwise idle device.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/device_memory.h"
#include "engine/device/stream.h"

namespace spire::inline kernels {

// REQUIRES: the device is the thread's current one, in all calls.
class EngineTimer {
 public:
  // Throws Error(out_of_memory), as allocate() does.
  explicit EngineTimer(DeviceId device);
  ~EngineTimer();

  void* allocate(size_t bytes);  // zeroed memory for the runs, which the timer owns

  // Returns the milliseconds of one run with cold caches; none if `run`, which submits its work to
  // the stream, throws. Throws Error(device) if it has corrupted the device.
  std::optional<float> time(const std::function<void(void* stream)>& run);

 private:
  struct Events;

  DeviceId device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  void* flushed_;
  std::unique_ptr<Events> events_;
};

}  // namespace spire::inline kernels
