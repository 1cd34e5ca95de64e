// out[i] = f(in[i]...): the loop of every elementwise CUDA kernel. One pass over memory, 16 bytes a
// thread at a time, computed in fp32; `out` may be one of the inputs. For .cu files.
#pragma once
#include "engine/device/cuda_launch.h"
#include "engine/device/cuda_pack.h"

namespace spire::inline kernels {

constexpr int elementwise_threads = 256;

// f by value: a device functor of floats. N elements a thread, the last few one by one.
template <int N, typename Out, typename F, typename... In>
__global__ void __launch_bounds__(elementwise_threads)
    elementwise_kernel(int64_t n, Out* out, F f, const In*... in) {
  int64_t first = (int64_t{blockIdx.x} * elementwise_threads + threadIdx.x) * N;
  if (first + N <= n) {
    auto result = [&](const auto&... packs) {
      Pack<Out, N> y;
      for (int i = 0; i < N; ++i) y.at[i] = Out(f(static_cast<float>(packs.at[i])...));
      return y;
    }(load_pack<N>(in + first)...);
    store_pack(result, out + first);
  } else {
    for (int64_t i = first; i < n; ++i) out[i] = Out(f(static_cast<float>(in[i])...));
  }
}

// Pointers are those of whole tensors: aligned to 16 bytes.
template <typename Out, typename F, typename... In>
void elementwise_cuda(void* stream, int64_t n, Out* out, F f, const In*... in) {
  constexpr int widths[] = {pack_width<Out>, pack_width<In>...};
  constexpr int width = *std::min_element(std::begin(widths), std::end(widths));
  unsigned blocks = blocks_for(n, int64_t{elementwise_threads} * width);
  launch(elementwise_kernel<width, Out, F, In...>, blocks, elementwise_threads, stream, n, out, f,
         in...);
}

}  // namespace spire::inline kernels
