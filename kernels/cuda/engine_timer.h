// Timer for runs of an engine on an otherwise idle device.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/device_memory.h"
#include "engine/device/stream.h"

namespace spire {

// REQUIRES: in all calls the device is the calling thread's current one.
class EngineTimer {
 public:
  // Throws Error(out_of_memory), as allocate() does.
  explicit EngineTimer(DeviceId device);
  ~EngineTimer();

  void* allocate(size_t bytes);  // zeroed memory for the runs, which the timer owns

  // Calls `run`, which submits work to the stream. Returns the milliseconds that the work takes
  // with cold caches; none if `run` throws. Throws Error(device) if that left the device unusable.
  std::optional<float> time(const std::function<void(void* stream)>& run);

 private:
  struct Events;

  DeviceId device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  void* flushed_;
  std::unique_ptr<Events> events_;
};

}  // namespace spire
