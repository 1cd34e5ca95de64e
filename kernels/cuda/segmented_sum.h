// Sums of rows over the places of an id, in the order of the places: the gradient of what takes
// rows by id (gather, embedding). For .cu files.
#pragma once
#include "engine/device/cuda_launch.h"
#include "engine/device/cuda_pack.h"
#include "kernels/cuda/divide.h"
#include "kernels/cuda/sort_by_key.h"

namespace spire::inline kernels {

constexpr int segmented_sum_threads = 256;

// dy (outer, taken, inner), out (outer, length, inner).
struct SegmentedSum {
  int64_t outer, taken, length, inner;
};

// A pack of `out` a thread. In packs of N: n of out, `inner` of a row.
template <int N, typename T, typename Out>
__global__ void __launch_bounds__(segmented_sum_threads)
    segmented_sum_kernel(int64_t n, Divider inner, Divider length, int64_t taken,
                         SortByKey::Sorted order, const T* dy, const Out* addend, Out* out) {
  int64_t i = int64_t{blockIdx.x} * segmented_sum_threads + threadIdx.x;
  if (i >= n) return;
  auto [row, column] = inner.divide(i);
  auto [o, id] = length.divide(row);
  int32_t begin = order.first[id], end = order.first[id + 1];
  if (begin == end && addend == out) return;
  float sum[N] = {};
  if (addend) {
    auto pack = load_pack<N>(addend + i * N);
    for (int k = 0; k < N; ++k) sum[k] = static_cast<float>(pack.at[k]);
  }
  dy += (o * taken * inner.divisor() + column) * N;
  for (int32_t p = begin; p < end; ++p) {
    auto pack = load_pack<N>(dy + order.places[p] * inner.divisor() * N);
    for (int k = 0; k < N; ++k) sum[k] += static_cast<float>(pack.at[k]);
  }
  Pack<Out, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = Out(sum[k]);
  store_pack(result, out + i * N);
}

template <int N, typename T, typename Out>
void launch_segmented_sum(void* stream, const SegmentedSum& s, SortByKey::Sorted order, const T* dy,
                          const Out* addend, Out* out) {
  int64_t n = s.outer * s.length * s.inner / N;
  launch(segmented_sum_kernel<N, T, Out>, blocks_for(n, segmented_sum_threads),
         segmented_sum_threads, stream, n, Divider(s.inner / N), Divider(s.length), s.taken, order,
         dy, addend, out);
}

// out = addend + sums in fp32; no addend when null, and `out` may be the addend.
template <typename T, typename Out>
void segmented_sum_cuda(void* stream, const SegmentedSum& s, SortByKey::Sorted order, const T* dy,
                        const Out* addend, Out* out) {
  constexpr int N = std::min(pack_width<T>, pack_width<Out>);
  if (rows_take_packs<N>(s.inner)) {
    launch_segmented_sum<N>(stream, s, order, dy, addend, out);
  } else {
    launch_segmented_sum<1>(stream, s, order, dy, addend, out);
  }
}

}  // namespace spire::inline kernels
