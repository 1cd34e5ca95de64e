// out[i] = f(in[i]...): the loop of every elementwise CPU kernel. One pass over memory, computed in
// fp32; `out` may be one of the inputs.
#pragma once
#include <spire/kernels/parallel.h>

namespace spire {

// Rounds in a function of its own: a bfloat16 temporary in the loop would keep it from vectorising.
template <typename T>
void store(T& to, float value) {
  to = static_cast<T>(value);
}

template <typename Out, typename F, typename... In>
void elementwise_range(int64_t begin, int64_t end, Out* out, F f, const In*... in) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    store(out[i], f(static_cast<float>(in[i])...));
  }
}

template <typename Out, typename F, typename... In>
void elementwise(int threads, int64_t n, Out* out, F f, const In*... in) {
  constexpr int64_t grain = 4096;
  parallel_for(threads, n, grain, [&](int64_t begin, int64_t end, int) {
    elementwise_range(begin, end, out, f, in...);
  });
}

}  // namespace spire
