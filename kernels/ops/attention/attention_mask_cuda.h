// Dropout of attention's scores, a tile of them at a time. This header belongs to attention's .cu
// files only.
#pragma once
#include <cuda_runtime.h>

#include "kernels/ops/attention/attention_extents_cuda.h"

namespace spire::inline kernels::attention_cuda {

// Of a tile of scores in shared memory: a bit a key, 1 where it is kept.
template <int queries, int keys>
struct KeepBits {
  uint16_t at[queries][keys / 16];

  __device__ bool of(int query, int key) const { return at[query][key / 16] >> (key % 16) & 1; }
};

// What says keep_ij of a head; `step` is not read without dropout. The stream is made anew for each
// tile, as its state would take registers that the scores need.
struct ScoreDropout {
  const StepContext* step;
  int32_t key;
  int sample, head;

  // The bits of a tile, for all to read after the next barrier; a thread draws 16 of a query at a
  // time. A barrier lies between those who read earlier bits and this. first_key: a multiple of 16.
  template <int threads, int queries, int keys>
  __device__ void draw(const AttentionExtents& e, int first_query, int first_key,
                       KeepBits<queries, keys>& keep) const {
    if (e.dropout == 0) return;
    RandomStream stream = dropout_stream(*step, key, sample);
    constexpr int groups = keys / 16;
    for (int i = static_cast<int>(threadIdx.x); i < queries * groups; i += threads) {
      int row = i / groups, group = i % groups;
      int64_t query = int64_t{head} * e.length + first_query + row;
      int64_t element = query * e.blocks * block + first_key + group * 16;
      unsigned bits = 0;
      for (int k = 0; k < 4; ++k) {
        PhiloxBlock drawn = stream.block(static_cast<uint64_t>(element / 4 + k));
        for (int j = 0; j < 4; ++j)
          bits |= static_cast<unsigned>(drawn[static_cast<size_t>(j)] >= e.threshold)
                  << (4 * k + j);
      }
      keep.at[row][group] = static_cast<uint16_t>(bits);
    }
  }
};

// Of a query and a key of the tile that was drawn.
template <int queries, int keys>
__device__ float keep_of(const AttentionExtents& e, const KeepBits<queries, keys>& keep, int query,
                         int key) {
  if (e.dropout == 0) return 1;
  return keep.of(query, key) ? e.keep : 0.0f;
}

}  // namespace spire::inline kernels::attention_cuda
