#include "kernels/autotune/convolution_timer.h"

#include "kernels/cuda/bias_relu.h"
#include "kernels/cuda/filter.h"

namespace spire::inline kernels {

ConvolutionTimer::ConvolutionTimer(const ConvolutionShape& s, DeviceId device,
                                   size_t workspace_bytes)
    : shape_(s),
      filter_{s.y[3], s.x[3] / s.groups, s.window.kernel.h, s.window.kernel.w},
      timer_(device) {
  void* x = timer_.allocate(TensorSpec{s.x, s.dtype}.bytes());
  void* y = timer_.allocate(TensorSpec{s.y, s.dtype}.bytes());
  size_t filter_bytes = TensorSpec{filter_, DType::f32}.bytes();  // a gradient's, the widest
  void* w = timer_.allocate(filter_bytes);
  pointers_ = {.x = x, .filter = w, .y = y};
  if (s.pass == ConvolutionPass::forward) pointers_.y = nullptr, pointers_.result = y;
  if (s.pass == ConvolutionPass::backward_data) pointers_.x = nullptr, pointers_.result = x;
  if (s.pass == ConvolutionPass::backward_weights) {
    pointers_.filter = nullptr, pointers_.result = w;
    plain_ = static_cast<float*>(timer_.allocate(filter_bytes));
  }
  size_t bias = static_cast<size_t>(s.y[3]) * sizeof(float);
  if (s.bias) pointers_.bias = static_cast<float*>(timer_.allocate(bias));
  pointers_.workspace = timer_.allocate(std::max<size_t>(1, workspace_bytes));
}

std::optional<float> ConvolutionTimer::time(const ConvolutionForm& form, const Run& run) {
  return timer_.time([&](void* stream) {
    run(pointers_, stream);
    finish(form, stream);
  });
}

void ConvolutionTimer::finish(const ConvolutionForm& form, void* stream) const {
  if (!form.fused)
    add_bias_relu({shape_.y, shape_.dtype}, pointers_.bias, shape_.relu, pointers_.result, stream);
  bool in_place = same_order(filter_) && form.result == DType::f32;
  if (plain_ && !in_place) krsc_to_plain(filter_, form.result, pointers_.result, plain_, stream);
}

}  // namespace spire::inline kernels
