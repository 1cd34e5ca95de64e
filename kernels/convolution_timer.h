// How long engines take for a convolution, on a device that does nothing else.
#pragma once
#include <spire/device/device_memory.h>
#include <spire/device/stream.h>
#include <spire/kernels/prepared_convolution.h>

namespace spire {

class ConvolutionTimer {
 public:
  // With memory for tensors of the real size and for the largest workspace of `plans`. Throws
  // Error(out_of_memory). REQUIRES: the device is the thread's current one, and for time() too.
  ConvolutionTimer(const ConvolutionShape& shape, const PreparedConvolution& prepared,
                   DeviceId device, std::span<const CudnnPlan> plans);
  ~ConvolutionTimer();

  // Milliseconds of one run that finds nothing in the caches; none where the engine fails. Throws
  // Error(device) where it has ruined the device.
  std::optional<float> time(const CudnnPlan& plan);

 private:
  struct Events;
  void* allocate(size_t bytes);  // zeros

  const PreparedConvolution& prepared_;
  DeviceId device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  void* flushed_;
  ConvolutionPointers pointers_;
  std::unique_ptr<Events> events_;
};

}  // namespace spire
