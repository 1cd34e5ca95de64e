// Common parts of attention's CUDA kernels: extents, views, dropout, operands and launches. There
// are kernels for forward and backward, each on plain cores in fp32 and, called "mma", on tensor
// cores in 16 bits. For .cu files.
#pragma once
#include <cmath>

#include <cuda_runtime.h>

#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/dropout/dropout.h"

namespace spire::attention_cuda {

constexpr int block = 64;          // queries or keys per block
constexpr int largest_size = 128;  // most columns of a head

// Sizes of a run. Sizes that kernels use all the time are int, which takes half the registers.
struct AttentionExtents {
  int64_t batch;
  int length, heads, size;  // T, H, D
  int group;                // H / K, heads that share keys and values
  int blocks;               // number of blocks in T
  int width, packed_width;  // C, and the columns of qkv
  int kv_width;             // K D, from the columns of k to those of v
  bool causal;
  float scale;  // 1 / sqrt(D)
  float dropout, keep;
  uint32_t threshold;  // smallest dropout bits that keep a score

  AttentionExtents(const Op& op, const AttentionAttributes& attributes, const Shape& qkv)
      : batch(qkv[0]),
        length(static_cast<int>(qkv[1])),
        heads(static_cast<int>(attributes.heads)),
        size(static_cast<int>(packed_heads(attributes, qkv).size)),
        group(static_cast<int>(packed_heads(attributes, qkv).group())),
        blocks((length - 1) / block + 1),
        width(heads * size),
        packed_width(static_cast<int>(qkv[2])),
        kv_width(heads / group * size),
        causal(attributes.causal),
        scale(1 / std::sqrt(static_cast<float>(size))),
        dropout(attributes.dropout),
        keep(1 / (1 - dropout)),
        threshold(dropout_threshold(dropout)) {
    if (size > largest_size) refuse_heads(op, size, largest_size);
    if (qkv[1] >> 30 != 0 || qkv[2] >> 30 != 0) refuse_length(op, qkv);
  }

  // Number of blocks of queries, and of keys, over all heads and samples.
  unsigned query_blocks() const { return static_cast<unsigned>(batch * heads * blocks); }
  unsigned key_blocks() const { return static_cast<unsigned>(batch * (heads / group) * blocks); }
  SPIRE_HOST_DEVICE bool sees(int query, int key) const {
    return key < length && query < length && (!causal || key <= query);
  }
};

// One head of one sample, and the offsets of its first element: `packed` of its q in the packed
// tensor (its k lies `to_keys` behind q, its v e.kv_width behind k), `plain` in tensors (N, T, C),
// `row` in tensors (N, H, T).
struct AttentionHead {
  int sample, head, to_keys;
  int64_t packed, plain, row;

  __device__ AttentionHead(const AttentionExtents& e, unsigned index)
      : sample(static_cast<int>(index) / e.heads),
        head(static_cast<int>(index) % e.heads),
        to_keys(e.width - (head - head / e.group) * e.size),
        packed(int64_t{sample} * e.length * e.packed_width + head * e.size),
        plain(int64_t{sample} * e.length * e.width + head * e.size),
        row(int64_t{index} * e.length) {}
};

// The first key that each query of a sample sees: the start of the query's document, or 0.
struct DocumentStarts {
  const int32_t* positions;  // (T) of the sample; null without documents
  int last;                  // T - 1

  __device__ DocumentStarts(const AttentionExtents& e, const int32_t* all, int sample)
      : positions(all ? all + int64_t{sample} * e.length : nullptr), last(e.length - 1) {}

  // Returns the first key that `query` sees; a query past the last counts as the last.
  __device__ int of(int query) const {
    return static_cast<int>(first_key(positions, query < last ? query : last));
  }
};

// Rows of a head in memory, `stride` elements apart.
template <typename T>
struct RowView {
  T* at;
  int stride, rows, size;
  float factor = 1;  // multiplies what is loaded or stored
};

// rows_from(): `count` rows from `first` on, fewer at the end of the sequence. rows_of(): the rows
// of block `index`.
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

// Dropout bits of a tile of scores, in shared memory, one per score: 1 if the score is kept.
template <int queries, int keys>
struct KeepBits {
  uint16_t at[queries][keys / 16];

  __device__ bool of(int query, int key) const { return at[query][key / 16] >> (key % 16) & 1; }
};

// Draws keep_ij of a head. Each tile makes the random stream again, which saves registers.
struct ScoreDropout {
  const StepContext* step;
  int32_t key;
  int sample, head;

  // Draws the bits of a tile; a thread draws 16 of a query at a time. The caller synchronizes the
  // block before and after. first_key: a multiple of 16.
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

// Returns keep_ij for a query and a key of the tile that was drawn last.
template <int queries, int keys>
__device__ float keep_of(const AttentionExtents& e, const KeepBits<queries, keys>& keep, int query,
                         int key) {
  if (e.dropout == 0) return 1;
  return keep.of(query, key) ? e.keep : 0.0f;
}

// Writes delta_i = dy_i . y_i of the backward. dy, y (N, T, C) of `dtype`; delta (N, H, T) fp32.
void launch_delta(const AttentionExtents& e, DType dtype, const void* dy, const void* y,
                  float* delta, void* stream);

// Tensors and the step of a forward kernel.
template <typename T>
struct ForwardOperands {
  const T* qkv;
  const int32_t* positions;  // (N, T); null without documents
  const StepContext* step;
  T* y;
  float* logsumexp;  // (N, H, T)
  int32_t* key;      // null without dropout
  int32_t op_id;     // the key to write
};

// Tensors and the step of the two kernels of a backward.
template <typename T>
struct BackwardOperands {
  const T *dy, *qkv;
  const float *logsumexp, *delta;  // (N, H, T)
  const int32_t* key;              // null without dropout
  const int32_t* positions;        // (N, T); null without documents
  const StepContext* step;
  T* dqkv;

  __device__ ScoreDropout mask(const AttentionHead& head) const {
    return {step, key ? *key : 0, head.sample, head.head};
  }
};

// Makes the kernel of a forward pass, which launches `function` with one block of threads for each
// block of queries of a head.
template <typename T>
Kernel attention_forward(void (*function)(AttentionExtents, ForwardOperands<T>), int block_threads,
                         const AttentionExtents& e, bool documents, int32_t op_id) {
  return [=](const KernelArgs& args) {
    ForwardOperands<T> operands{args.in<T>(0),
                                documents ? args.in<int32_t>(1) : nullptr,
                                args.step,
                                args.out<T>(0),
                                args.out<float>(1),
                                e.dropout > 0 ? args.out<int32_t>(2) : nullptr,
                                op_id};
    launch(function, e.query_blocks(), block_threads, args.stream, e, operands);
  };
}

// Makes the kernel of a backward pass, which launches three CUDA kernels: one that computes delta
// into the workspace, then `keys`, which writes dk and dv (a block of threads for each block of
// keys), then `queries`, which writes dq.
template <typename T>
Kernel attention_backward(void (*keys)(AttentionExtents, BackwardOperands<T>),
                          void (*queries)(AttentionExtents, BackwardOperands<T>), int block_threads,
                          const AttentionExtents& e, bool documents) {
  auto run = [=](const KernelArgs& args) {
    auto delta = args.scratch<float>();
    launch_delta(e, dtype_of<T>::value, args.inputs[0], args.inputs[2], delta, args.stream);
    BackwardOperands<T> operands{args.in<T>(0),
                                 args.in<T>(1),
                                 args.in<float>(3),
                                 delta,
                                 e.dropout > 0 ? args.in<int32_t>(4) : nullptr,
                                 documents ? args.in<int32_t>(e.dropout > 0 ? 5 : 4) : nullptr,
                                 args.step,
                                 args.out<T>(0)};
    launch(keys, e.key_blocks(), block_threads, args.stream, e, operands);
    launch(queries, e.query_blocks(), block_threads, args.stream, e, operands);
  };
  return Kernel(run, static_cast<size_t>(e.batch * e.heads * e.length) * sizeof(float));
}

}  // namespace spire::attention_cuda
