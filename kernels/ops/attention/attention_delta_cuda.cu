// The small kernel that both of attention's backwards begin with: delta_i = dy_i . y_i.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention_cuda.h"

namespace spire::attention_cuda {

namespace {

constexpr int delta_threads = 256;
constexpr int delta_warps = delta_threads / warp_threads;

// A warp takes one position of one head.
template <typename T>
__global__ void __launch_bounds__(delta_threads)
    attention_delta_kernel(AttentionExtents e, Divider heads, Divider length, const T* dy,
                           const T* y, float* delta) {
  int64_t i = int64_t{blockIdx.x} * delta_warps + threadIdx.x / warp_threads;
  if (i >= e.batch * e.length * e.heads) return;
  float sum = 0;
  for (int c = static_cast<int>(threadIdx.x) % warp_threads; c < e.size; c += warp_threads)
    sum += static_cast<float>(dy[i * e.size + c]) * static_cast<float>(y[i * e.size + c]);
  sum = warp_reduce(sum, Sum{});
  auto [position, head] = heads.divide(i);
  auto [sample, t] = length.divide(position);
  if (threadIdx.x % warp_threads == 0) delta[(sample * e.heads + head) * e.length + t] = sum;
}

}  // namespace

void launch_delta(const AttentionExtents& e, DType dtype, const void* dy, const void* y,
                  float* delta, void* stream) {
  auto blocks = blocks_for(e.batch * e.length * e.heads, delta_warps);
  with_any_float_type(dtype, [&]<typename T>(T) {
    launch(attention_delta_kernel<T>, blocks, delta_threads, stream, e, Divider(e.heads),
           Divider(e.length), static_cast<const T*>(dy), static_cast<const T*>(y), delta);
  });
}

}  // namespace spire::attention_cuda
