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

}  // namespace

spire::Kernel softplus_kernel_cuda(const spire::KernelRequest& request, bool backwards) {
  const spire::TensorSpec& spec = request.inputs[0];
  return spire::with_any_float_type(spec.dtype, [&](auto type) -> spire::Kernel {
    using T = decltype(type);
    return [backwards, count = spec.shape.elements()](const spire::KernelArgs& args) {
      auto stream = static_cast<cudaStream_t>(args.stream);
      auto x = args.in<T>(0);
      auto blocks = static_cast<unsigned>((count + 255) / 256);
      if (backwards) {
        backward<<<blocks, 256, 0, stream>>>(x, args.in<T>(1), args.out<T>(0), count);
      } else {
        forward<<<blocks, 256, 0, stream>>>(x, args.out<T>(0), count);
      }
      if (cudaError_t error = cudaGetLastError(); error != cudaSuccess)
        throw spire::Error(spire::Category::device,
                           std::string("[softplus] ") + cudaGetErrorString(error));
    };
  });
}
