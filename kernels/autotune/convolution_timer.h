// How long a convolution takes, by whatever engine, with tensors of the real size.
#pragma once
#include "kernels/autotune/engine_timer.h"
#include "kernels/nvidia/convolution_form.h"

namespace spire::inline kernels {

class ConvolutionTimer {
 public:
  // Throws Error(out_of_memory). REQUIRES: as EngineTimer.
  ConvolutionTimer(const ConvolutionShape& shape, DeviceId device, size_t workspace_bytes);

  // Milliseconds of `run` and of the passes that the form leaves to be done behind it: bias and
  // relu, and bringing a filter's gradient into the plain layout in fp32. None where it fails.
  using Run = std::function<void(const ConvolutionPointers& pointers, void* stream)>;
  std::optional<float> time(const ConvolutionForm& form, const Run& run);

 private:
  void finish(const ConvolutionForm& form, void* stream) const;

  ConvolutionShape shape_;
  Shape filter_;  // plain
  EngineTimer timer_;
  ConvolutionPointers pointers_;
  float* plain_ = nullptr;  // a filter's gradient
};

}  // namespace spire::inline kernels
