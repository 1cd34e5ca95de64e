// Loop of elementwise CPU kernels: out[i] = f(in[i]...), in one pass over memory, computed in fp32.
// `out` may be one of the inputs.
#pragma once
#include <algorithm>
#include <type_traits>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"

namespace spire {

// to[i] = from[i] through fp32, rounded to To. `to` and `from` do not overlap.
template <typename From, typename To>
void copy_range(const From* from, To* to, int64_t n) {
  over_lanes(
      n, [=](int64_t i, auto count) { store_floats(load_floats(from + i, count), to + i, count); });
}

// Maps [begin, end) by an f that takes single floats. Results are collected in a block on the
// stack, so that the loop over f, which the compiler vectorizes, has no conversion to Out.
template <typename Out, typename F, typename... In>
void elementwise_blocks(int64_t begin, int64_t end, Out* out, F f, const In*... in) {
  constexpr int64_t block_size = 256;
  alignas(64) float block[block_size];
  for (int64_t first = begin; first < end; first += block_size) {
    int64_t n = std::min(block_size, end - first);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) block[i] = f(static_cast<float>(in[first + i])...);
    copy_range(block, out + first, n);
  }
}

template <typename T>
using FloatLanesFor = FloatLanes;

// Maps [begin, end), a SIMD register at a time if f also takes FloatLanes.
template <typename Out, typename F, typename... In>
void elementwise_range(int64_t begin, int64_t end, Out* out, F f, const In*... in) {
  if constexpr (std::is_invocable_v<F, FloatLanesFor<In>...>) {
    over_lanes(end - begin, [=](int64_t i, auto count) {
      store_floats(f(load_floats(in + begin + i, count)...), out + begin + i, count);
    });
  } else {
    elementwise_blocks(begin, end, out, f, in...);
  }
}

// Maps n elements on `threads` threads.
template <typename Out, typename F, typename... In>
void elementwise(int threads, int64_t n, Out* out, F f, const In*... in) {
  constexpr int64_t grain = 4096;
  parallel_for(threads, n, grain, [&](int64_t begin, int64_t end, int) {
    elementwise_range(begin, end, out, f, in...);
  });
}

}  // namespace spire
