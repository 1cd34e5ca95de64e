// Dropout of attention's scores, a block of 64 x 64 at a time. This header belongs to attention's
// .cu files only.
#pragma once
#include <spire/kernels/attention_cuda.h>

namespace spire::attention_cuda {

// What says keep_ij of a head; `step` is not read without dropout. The stream is made anew for each
// block, as its state would take registers that the scores need.
struct Mask {
  const StepContext* step;
  int32_t key;
  int sample, head;

  // The bits of a block, for all to read after the next barrier; a thread draws 16 of a query. A
  // barrier lies between those who read earlier bits and this.
  __device__ void draw(const Extents& e, int query_block, int key_block, Shared& shared) const {
    if (e.dropout == 0) return;
    RandomStream stream = dropout_stream(*step, key, sample);
    int row = static_cast<int>(threadIdx.x) / 4, group = static_cast<int>(threadIdx.x) % 4;
    int64_t query = int64_t{head} * e.length + query_block * block + row;
    int64_t element = (query * e.blocks + key_block) * block + group * 16;
    unsigned bits = 0;
    for (int k = 0; k < 4; ++k) {
      PhiloxBlock drawn = stream.block(static_cast<uint64_t>(element / 4 + k));
      for (int i = 0; i < 4; ++i)
        bits |= static_cast<unsigned>(drawn[static_cast<size_t>(i)] >= e.threshold) << (4 * k + i);
    }
    shared.keep[row][group] = static_cast<uint16_t>(bits);
  }
};

// Of a query and a key of the block that was drawn.
__device__ inline float keep_of(const Extents& e, const Shared& shared, int query, int key) {
  if (e.dropout == 0) return 1;
  return shared.keep[query][key / 16] >> (key % 16) & 1 ? e.keep : 0.0f;
}

}  // namespace spire::attention_cuda
