// Attention forward on tensor cores. A block of 64 queries, 16 a warp, goes through the keys it
// sees, 64 at a time, with an online softmax. keep p is rounded to 16 bits, as an operand of keep p
// v; the sum of p stays fp32. Exponentials are base 2, with log2(e) / sqrt(D) in one factor.
#include "engine/device/cuda_kernel.h"
#include "kernels/ops/attention/attention_makers.h"
#include "kernels/ops/attention/attention_mma_cuda.h"

namespace spire {

namespace {

using namespace attention_mma;

constexpr int tile_keys = 64;

// Reduces over the four lanes that share a row; all of them get the result.
template <typename Combine>
__device__ float row_reduce(float value, Combine combine) {
  for (int step = 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(full_warp, value, step));
  return value;
}

// Online softmax of the lane's two rows: the largest product q . k so far, and the lane's share of
// the sum of e^((product - largest) / sqrt(D)).
struct MmaSoftmax {
  float most[2] = {masked, masked}, total[2] = {};

  // Turns products into e^((product - largest) / sqrt(D)), and rescales what was summed with an
  // earlier largest.
  template <int D>
  __device__ void soften(const AttentionExtents& e, MmaSums<tile_keys>& scores, MmaSums<D>& sums) {
    float largest[2] = {most[0], most[1]};
    each_sum<tile_keys>([&](int n, int i, int, int) {
      if (scores.at[n][i] > largest[i / 2]) largest[i / 2] = scores.at[n][i];
    });
    float factor[2], unit = e.scale * log2_e;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      largest[half] = row_reduce(largest[half], Maximum{});
      // A query may see none of the keys so far, but those of others' documents: no difference of
      // infinities then.
      float most_before = most[half];
      most[half] = largest[half];
      if (largest[half] == masked) largest[half] = 0;
      factor[half] = exp2f((most_before - largest[half]) * unit);
      total[half] *= factor[half];
    }
    each_sum<D>([&](int n, int i, int, int) { sums.at[n][i] *= factor[i / 2]; });
    each_sum<tile_keys>([&](int n, int i, int, int) {
      float p = exp2f((scores.at[n][i] - largest[i / 2]) * unit);
      total[i / 2] += p;
      scores.at[n][i] = p;
    });
  }
};

template <int D, typename T>
__global__ void __launch_bounds__(threads, 2)
    attention_mma_kernel(AttentionExtents e, ForwardOperands<T> o) {
  __shared__ MmaTile<tile_keys, D> keys, values;
  __shared__ KeepBits<block, tile_keys> keep;

  // Longest first: when causal, the last blocks of queries see the most keys.
  int first_query = (e.blocks - 1 - static_cast<int>(blockIdx.x % e.blocks)) * block;
  AttentionHead head(e, blockIdx.x / e.blocks);
  ScoreDropout mask{o.step, o.op_id, head.sample, head.head};
  if (blockIdx.x == 0 && threadIdx.x == 0 && o.key) *o.key = o.op_id;
  const T *q = o.qkv + head.packed, *k = q + head.to_keys, *v = k + e.kv_width;
  LeftRows<D> queries(rows_from(e, q, e.packed_width, first_query, block));
  MmaSoftmax softmax;
  MmaSums<D> sums;
  DocumentStarts starts(e, o.positions, head.sample);
  RowStarts row_starts(starts, first_query);
  int first_tile = starts.of(first_query) / tile_keys * tile_keys;
  for (int first = first_tile; first < keys_of(e, first_query); first += tile_keys) {
    __syncthreads();  // the tiles before have been read
    keys.load(rows_from(e, k, e.packed_width, first, tile_keys));
    values.load(rows_from(e, v, e.packed_width, first, tile_keys));
    mask.draw<threads>(e, first_query, first, keep);
    __syncthreads();
    MmaSums<tile_keys> scores;
    scores.template add_products<T>(queries, keys);
    if (needs_mask(e, starts, first_query, block, first, tile_keys))
      each_sum<tile_keys>([&](int n, int i, int row, int column) {
        if (!sees(e, first_query + row, first + column, row_starts.at[i / 2]))
          scores.at[n][i] = masked;
      });
    softmax.soften(e, scores, sums);
    if (e.dropout > 0)
      each_sum<tile_keys>([&](int n, int i, int row, int column) {
        scores.at[n][i] *= keep.of(row, column) ? e.keep : 0.0f;
      });
    sums.template add_weighted<T>(scores, values);
  }

  float factors[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float total = row_reduce(softmax.total[half], Sum{});
    factors[half] = 1 / total;
    int query = first_query + first_row() + group() + 8 * half;
    if (pair() == 0 && query < e.length)
      o.logsumexp[head.row + query] = softmax.most[half] * e.scale + logf(total);
  }
  sums.store(rows_from(e, o.y + head.plain, e.width, first_query, block), factors);
}

}  // namespace

int attention_cuda::mma_compiled_for() {
  return compiled_for(attention_mma_kernel<64, bfloat16>);
}

Kernel attention_cuda::make_mma(const AttentionOp& op, const KernelRequest& request) {
  const TensorSpec& qkv = request.inputs[0];
  AttentionExtents e(op, op.attributes(), qkv.shape);
  return with_mma_kernel(qkv.dtype, e.size, [&]<typename T>(T, auto columns) {
    return attention_forward<T>(attention_mma_kernel<columns.value, T>, threads, e,
                                op.attributes().documents, request.op_id);
  });
}

}  // namespace spire
