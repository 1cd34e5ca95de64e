// Sums of all rows with the same id: the gradient of gather and embedding. Positions are sorted by
// id first, so that sums need no atomics and have a fixed order. For .cu files.
#pragma once
#include <cstddef>
#include <cstdint>

#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"

namespace spire {

// A stable sort of the positions of a list by the id at each position. Radix sort (Knuth, TAOCP 3,
// 5.2.5) with digits of up to 8 bits: each chunk of positions counts its digits, and a scan over
// (digit, chunk) tells where the chunk's positions with a digit go.
class SortByKey {
 public:
  // positions: length of the list, below 2^31. values: number of ids; positions with an id outside
  // [0, values) are left out of all sums.
  SortByKey(int64_t positions, int64_t values);

  size_t workspace_bytes() const;

  // positions[first[v]] to positions[first[v + 1] - 1] are the positions of id v, ascending.
  struct Sorted {
    const int32_t *first, *positions;
  };
  // Returns pointers into the workspace, valid for later work on the stream.
  Sorted sort(void* stream, const int32_t* ids, void* workspace) const;

 private:
  int64_t positions_, values_;
  int64_t chunk_;  // positions per chunk
  unsigned chunks_;
  int passes_, bits_;  // bits of a digit
};

constexpr int segmented_sum_threads = 256;

// Extents: dy is (outer, taken, inner), out is (outer, length, inner).
struct SegmentedSum {
  int64_t outer, taken, length, inner;
};

// Computes one pack of `out` per thread. n: number of packs of `out`; inner: packs per row.
template <int N, typename T, typename Out>
__global__ void __launch_bounds__(segmented_sum_threads)
    segmented_sum_kernel(int64_t n, Divider inner, Divider length, int64_t taken,
                         SortByKey::Sorted order, const T* dy, const Out* addend, Out* out) {
  int64_t i = int64_t{blockIdx.x} * segmented_sum_threads + threadIdx.x;
  if (i >= n) return;
  auto [row, column] = inner.divide(i);
  auto [o, id] = length.divide(row);
  int32_t begin = order.first[id], end = order.first[id + 1];
  if (begin == end && addend == out) return;  // the id does not occur
  float sum[N] = {};
  if (addend) {
    auto pack = load_pack<N>(addend + i * N);
    for (int k = 0; k < N; ++k) sum[k] = static_cast<float>(pack.at[k]);
  }
  dy += (o * taken * inner.divisor() + column) * N;
  for (int32_t p = begin; p < end; ++p) {
    auto pack = load_pack<N>(dy + order.positions[p] * inner.divisor() * N);
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

// out[o, id, i] = addend[o, id, i] + sum of dy[o, p, i] over the positions p of the id, ascending,
// in fp32. addend: null means none; may be `out`.
template <typename T, typename Out>
void segmented_sum_cuda(void* stream, const SegmentedSum& s, SortByKey::Sorted order, const T* dy,
                        const Out* addend, Out* out) {
  constexpr int N = smaller(pack_width<T>, pack_width<Out>);
  if (rows_take_packs<N>(s.inner)) {
    launch_segmented_sum<N>(stream, s, order, dy, addend, out);
  } else {
    launch_segmented_sum<1>(stream, s, order, dy, addend, out);
  }
}

// Throws Error(unexpected): no sort takes so many positions or ids. (In gather.cpp, as .cu files do
// not include fmt.)
[[noreturn]] void refuse_sort(int64_t positions, int64_t ids);

}  // namespace spire
