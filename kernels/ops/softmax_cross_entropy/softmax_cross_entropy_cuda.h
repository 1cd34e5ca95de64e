// Assignment of the logits of softmax_cross_entropy to threads: one warp per row, or one block per
// row with more than warp_classes classes. For .cu files.
#pragma once
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/elementary.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace spire {

constexpr int logit_threads = 256;
constexpr int64_t warp_classes = 1024;  // with more, a block takes a row

// Number of loads in flight: `packs` packs of 16 bytes, or eight single elements.
template <int N, int packs>
constexpr int logit_batch = N == 1 ? 8 : packs;

struct LogitRows {
  int64_t rows, classes;
  int64_t pitch;  // elements from a row to the next
};

inline LogitRows logit_rows(const TensorSpec& logits) {
  return {logits.shape[0], logits.shape[1], logits.pitch()};
}

// Returns the row of this thread if `group` threads share a row.
template <int group>
__device__ inline int64_t logit_row() {
  return int64_t{blockIdx.x} * (logit_threads / group) + threadIdx.x / group;
}

// weights[n] = R / (number of labelled rows of sample n), 0 if it has none. One block per sample.
static __global__ void __launch_bounds__(logit_threads)
    weigh_samples_kernel(int64_t rows_per_sample, LabelTargets targets, double* weights) {
  int64_t begin = int64_t{blockIdx.x} * rows_per_sample;
  int64_t labelled = 0;
  for (int64_t row = threadIdx.x; row < rows_per_sample; row += logit_threads)
    labelled += targets.is_unlabelled(begin + row) ? 0 : 1;
  labelled = block_reduce<logit_threads>(labelled, Sum{});
  if (threadIdx.x != 0) return;
  auto all = static_cast<double>(rows_per_sample);
  weights[blockIdx.x] = labelled > 0 ? all / static_cast<double>(labelled) : 0;
}

// Computes the weights of samples into `weights`, the memory of a SampleWeights.
static inline void weigh_samples(const SoftmaxCrossEntropyAttributes& attributes,
                                 const LabelTargets& targets, int64_t rows, void* stream,
                                 double* weights) {
  if (!attributes.unlabelled) return;
  launch(weigh_samples_kernel, blocks_for(rows, attributes.rows_per_sample), logit_threads, stream,
         attributes.rows_per_sample, targets, weights);
}

// Loads n packs, at `from`, from + step, ..., as floats into x.
template <int n, int N, typename T>
__device__ inline void load_floats(const T* from, int64_t step, float (&x)[n][N]) {
  Pack<T, N> packs[n];
  for (int k = 0; k < n; ++k) packs[k] = load_pack<N>(from + k * step);
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < N; ++i) x[k][i] = static_cast<float>(packs[k].at[i]);
}

// Splits the classes of a row among `group` threads. For this thread's part calls body(c, n, width,
// step), which handles n loads of `width` classes, at c, c + step, ...: first whole packs of N, up
// to `batch` at a time, then single classes. n and width are std::integral_constants.
template <int group, int N, int batch, typename Body>
__device__ inline void over_classes(int64_t classes, Body body) {
  int64_t thread = threadIdx.x % group, whole = classes - classes % N;
  in_batches<batch>(thread * N, whole, group * N, [&](int64_t c, auto n) {
    body(c, n, std::integral_constant<int, N>{}, int64_t{group * N});
  });
  if constexpr (N > 1) {
    for (int64_t c = whole + thread; c < classes; c += group)
      body(c, std::integral_constant<int, 1>{}, std::integral_constant<int, 1>{}, int64_t{group});
  }
}

// Calls run.operator()<group, N>(): `group` threads share a row. N is the width of a pack if all
// pitches are multiples of it, else 1.
template <typename T, typename Run, typename... Pitches>
void with_layout(int64_t classes, const Run& run, Pitches... pitches) {
  constexpr int N = pack_width<T>;
  bool packs = (rows_take_packs<N>(pitches) && ...), warp = classes <= warp_classes;
  if (warp && packs) return run.template operator()<warp_threads, N>();
  if (warp) return run.template operator()<warp_threads, 1>();
  if (packs) return run.template operator()<logit_threads, N>();
  run.template operator()<logit_threads, 1>();
}

}  // namespace spire
