// The CUDA kernels of softplus.h.
#include <cuda_runtime.h>

#include <spire/error.h>

#include "softplus.h"

namespace {

template <typename T>
__global__ void forward(const T* x, T* y, int64_t count) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  float value = x[i];
  y[i] = fmaxf(value, 0.0f) + log1pf(expf(-fabsf(value)));
}

template <typename T>
__global__ void backward(const T* x, const T* dy, T* dx, int64_t count) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < count) dx[i] = float(dy[i]) / (1 + expf(-float(x[i])));
}

template <typename T>
class SoftplusCuda : public spire::Kernel {
 public:
  SoftplusCuda(int64_t count, bool backward) : count_(count), backward_(backward) {}

  void run(const spire::KernelArgs& args) override {
    auto stream = static_cast<cudaStream_t>(args.stream);
    const auto* x = static_cast<const T*>(args.inputs[0]);
    auto* out = static_cast<T*>(args.outputs[0]);
    auto blocks = static_cast<unsigned>((count_ + 255) / 256);
    if (backward_) {
      backward<<<blocks, 256, 0, stream>>>(x, static_cast<const T*>(args.inputs[1]), out, count_);
    } else {
      forward<<<blocks, 256, 0, stream>>>(x, out, count_);
    }
    if (cudaError_t error = cudaGetLastError(); error != cudaSuccess)
      throw spire::Error(spire::Category::device,
                         std::string("[softplus] ") + cudaGetErrorString(error));
  }

 private:
  int64_t count_;
  bool backward_;
};

}  // namespace

std::unique_ptr<spire::Kernel> softplus_kernel_cuda(const spire::KernelRequest& request,
                                                    bool backward) {
  const spire::TensorSpec& x = request.inputs[0];
  return spire::with_any_float_type(x.dtype, [&](auto type) -> std::unique_ptr<spire::Kernel> {
    return std::make_unique<SoftplusCuda<decltype(type)>>(x.shape.elements(), backward);
  });
}
