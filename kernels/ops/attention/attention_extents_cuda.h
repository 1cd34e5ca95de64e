// What all of attention's CUDA kernels share: the extents of a run, and where a head lies. This
// header belongs to attention's .cu files only.
#pragma once
#include <cmath>

#include "kernels/nvidia/cuda_attention.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/dropout/dropout.h"

namespace spire::inline kernels::attention_cuda {

constexpr int block = 64;          // queries or keys
constexpr int largest_size = 128;  // of a head

inline AttentionShape shape_of(AttentionPass pass, const AttentionAttributes& attributes,
                               const TensorSpec& qkv) {
  return {.pass = pass,
          .batch = qkv.shape[0],
          .length = qkv.shape[1],
          .heads = attributes.heads,
          .size = qkv.shape[2] / 3 / attributes.heads,
          .dtype = qkv.dtype,
          .causal = attributes.causal,
          .dropout = attributes.dropout};
}

// Of one run; what a kernel needs all the time is int, which is half the registers.
struct AttentionExtents {
  int64_t batch;
  int length, heads, size;  // T, H, D
  int blocks;               // of T
  int width, packed_width;  // C, 3C
  bool causal;
  float scale;  // 1 / sqrt(D)
  float dropout, keep;
  uint32_t threshold;  // of dropout's bits

  AttentionExtents(const Op& op, const AttentionAttributes& attributes, const Shape& qkv)
      : batch(qkv[0]),
        length(static_cast<int>(qkv[1])),
        heads(static_cast<int>(attributes.heads)),
        size(static_cast<int>(qkv[2] / 3 / heads)),
        blocks((length - 1) / block + 1),
        width(heads * size),
        packed_width(3 * width),
        causal(attributes.causal),
        scale(1 / std::sqrt(static_cast<float>(size))),
        dropout(attributes.dropout),
        keep(1 / (1 - dropout)),
        threshold(dropout_threshold(dropout)) {
    expect(op, size <= largest_size, "heads of {} columns: on a GPU they have at most {}", size,
           largest_size);
    expect(op, qkv[1] >> 30 == 0 && qkv[2] >> 30 == 0, "{} is too long for a GPU", to_string(qkv));
  }

  // Blocks of all heads of all samples.
  unsigned all_blocks() const { return static_cast<unsigned>(batch * heads * blocks); }
  SPIRE_HOST_DEVICE bool sees(int query, int key) const {
    return key < length && query < length && (!causal || key <= query);
  }
};

// One head of one sample, and where its elements begin in tensors (N, T, 3C), (N, T, C), (N, H, T).
struct AttentionHead {
  int sample, head;
  int64_t packed, plain, row;

  __device__ AttentionHead(const AttentionExtents& e, unsigned index)
      : sample(static_cast<int>(index) / e.heads),
        head(static_cast<int>(index) % e.heads),
        packed(int64_t{sample} * e.length * e.packed_width + head * e.size),
        plain(int64_t{sample} * e.length * e.width + head * e.size),
        row(int64_t{index} * e.length) {}
};

// RowView of a head in memory.
template <typename T>
struct RowView {
  T* at;
  int stride, rows, size;
  float factor = 1;  // of what is loaded or stored
};

// `count` rows from `first` on, fewer at the end of the sequence.
template <typename T>
__device__ RowView<T> rows_from(const AttentionExtents& e, T* head, int stride, int first,
                                int count, float factor = 1) {
  int left = e.length - first;
  return {head + int64_t{first} * stride, stride, left < count ? left : count, e.size, factor};
}
template <typename T>
__device__ RowView<T> rows_of(const AttentionExtents& e, T* head, int stride, int index,
                              float factor = 1) {
  return rows_from(e, head, stride, index * block, block, factor);
}

}  // namespace spire::inline kernels::attention_cuda
