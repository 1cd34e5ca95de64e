// Elementwise CUDA kernels, over a flat range or over pixels of (N, H, W, C). For .cu files.
#pragma once
#include <cstdint>
#include <type_traits>

#include <spire/tensor.h>

#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"

namespace spire {

// Visits the items first, first + step, ... < end: calls body(i, n) for the n items i, i + step,
// ... n is `batch`, or 1 for the last few items. It is a std::integral_constant, so that a body can
// keep a batch in registers and have all its loads in flight together.
template <int batch, typename Body>
__device__ inline void in_batches(int64_t first, int64_t end, int64_t step, Body body) {
  for (; first + (batch - 1) * step < end; first += batch * step)
    body(first, std::integral_constant<int, batch>{});
  for (; first < end; first += step) body(first, std::integral_constant<int, 1>{});
}

constexpr int elementwise_threads = 256;

// Maps N elements per thread, the last few one by one. f: a device functor of floats, by value.
template <int N, typename Out, typename F, typename... In>
__global__ void __launch_bounds__(elementwise_threads)
    elementwise_kernel(int64_t n, Out* out, F f, const In*... in) {
  int64_t first = (int64_t{blockIdx.x} * elementwise_threads + threadIdx.x) * N;
  if (first + N <= n) {
    // All inputs are loaded before the first store: `out` may be one of them.
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

// Returns the number of elements in a 16-byte load of the widest of the types.
template <typename... T>
constexpr int common_width() {
  int width = 16;
  ((width = smaller(width, pack_width<T>)), ...);
  return width;
}

// out[i] = f(in[i]...) for i < n, in one pass over memory, 16 bytes of the widest type per thread;
// computed in fp32. `out` may be one of the inputs. Whole tensors, aligned to 16 bytes.
template <typename Out, typename F, typename... In>
void elementwise_cuda(void* stream, int64_t n, Out* out, F f, const In*... in) {
  constexpr int width = common_width<Out, In...>();
  unsigned blocks = blocks_for(n, int64_t{elementwise_threads} * width);
  launch(elementwise_kernel<width, Out, F, In...>, blocks, elementwise_threads, stream, n, out, f,
         in...);
}

// Returns visit(T{}, N) for the type T of `dtype`: N, an integral_constant, is the number of
// elements in a 16-byte load, or 1 if rows of `width` elements are not aligned for such loads.
template <typename Visit>
auto with_packs(DType dtype, int64_t width, const Visit& visit) {
  return with_any_float_type(dtype, [&](auto type) {
    constexpr int N = pack_width<decltype(type)>;
    if (rows_take_packs<N>(width)) return visit(type, std::integral_constant<int, N>{});
    return visit(type, std::integral_constant<int, 1>{});
  });
}

constexpr int pixel_threads = 256;

// A thread's pack of channels in a tensor (N, H, W, C).
struct Pixel {
  int64_t sample, row, column;
  int64_t channel;  // first of the pack
  int64_t at;       // offset of the pack in the tensor, in elements
};

// Grid of kernels that write a tensor (N, H, W, C) pixel by pixel, one pack of channels per thread.
class PixelGrid {
 public:
  // REQUIRES: channels_a_pack divides the channels.
  PixelGrid(const Shape& nhwc, int channels_a_pack)
      : n_(nhwc.elements() / channels_a_pack),
        channels_a_pack_(channels_a_pack),
        packs_(nhwc[3] / channels_a_pack),
        width_(nhwc[2]),
        height_(nhwc[1]) {}

  unsigned blocks() const { return blocks_for(n_, pixel_threads); }

  __device__ bool has(int64_t i) const { return i < n_; }  // true if there is an i-th pack
  __device__ Pixel pixel(int64_t i) const {
    auto [pixel, pack] = packs_.divide(i);
    auto [line, column] = width_.divide(pixel);
    auto [sample, row] = height_.divide(line);
    return {sample, row, column, pack * channels_a_pack_, i * channels_a_pack_};
  }

 private:
  int64_t n_;
  int channels_a_pack_;
  Divider packs_, width_, height_;
};

__device__ inline int64_t pixel_thread() {
  return int64_t{blockIdx.x} * pixel_threads + threadIdx.x;
}

}  // namespace spire
