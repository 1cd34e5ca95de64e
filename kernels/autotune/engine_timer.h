// How long an engine's run takes, on a device that does nothing else.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/device_memory.h"
#include "engine/device/stream.h"

namespace spire::inline kernels {

class EngineTimer {
 public:
  // REQUIRES: the device is the thread's current one, and for the other calls too. Throws
  // Error(out_of_memory), as allocate() does.
  explicit EngineTimer(DeviceId device);
  ~EngineTimer();

  // Zeros, for the tensors and the workspace of runs; they stay as long as the timer.
  void* allocate(size_t bytes);

  // Milliseconds of one run that finds nothing in the caches; none where `run` throws. It puts its
  // work on the stream. Throws Error(device) where it has ruined the device.
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
