// Attention backward on tensor cores, in three kernels: delta; then dk and dv, a block of keys
// going through the queries that see it; then dq, a block of queries going through its keys. The
// last two both compute the scores again, so that no sum needs atomics and each has one order. keep
// p and ds are rounded to 16 bits as operands, and nothing else before the results.
#include "engine/device/cuda_kernel.h"
#include "kernels/ops/attention/attention_makers.h"
#include "kernels/ops/attention/attention_mma_cuda.h"

namespace spire {

namespace {

using namespace attention_mma;

// Numbers of a query from which p and ds follow.
struct QueryNumbers {
  float logsumexp, delta;
  int start;  // the first key that it sees
};

// Returns zeros for queries behind the last.
template <typename T>
__device__ QueryNumbers numbers_of(const AttentionExtents& e, const BackwardOperands<T>& o,
                                   const AttentionHead& head, const DocumentStarts& starts,
                                   int query) {
  if (query >= e.length) return {0, 0, 0};
  return {o.logsumexp[head.row + query], o.delta[head.row + query], starts.of(query)};
}

// Rows of a tile: as many as the results dk and dv leave registers for.
template <int D>
constexpr int tile_queries = D > 64 ? 16 : 32;
constexpr int tile_keys = 32;

// In place: the product q . k becomes p, and keep dy . v becomes ds / sqrt(D). The scale comes
// before the rounding to 16 bits, as fp16 overflows at 65504.
__device__ inline void differentiate(const AttentionExtents& e, const QueryNumbers& query,
                                     float& score, float& product) {
  score = exp2f((score * e.scale - query.logsumexp) * log2_e);
  product = score * (product - query.delta) * e.scale;
}

// dk and dv of 64 keys, from all heads of queries that share them. Rows of the tiles are keys,
// columns queries.
template <int D, typename T>
__global__ void __launch_bounds__(threads, 2)
    attention_mma_keys_kernel(AttentionExtents e, BackwardOperands<T> o) {
  constexpr int rows = tile_queries<D>;
  __shared__ MmaTile<block, D> keys, values;
  __shared__ MmaTile<rows, D> queries, dys;
  __shared__ KeepBits<rows, block> keep;
  __shared__ QueryNumbers numbers[rows];

  // Longest first: when causal, the first blocks of keys are seen by the most queries.
  int first_key = static_cast<int>(blockIdx.x % e.blocks) * block;
  unsigned first_head = blockIdx.x / e.blocks * e.group;
  AttentionHead own(e, first_head);
  int64_t to_k = own.packed + own.to_keys, to_v = to_k + e.kv_width;
  keys.load(rows_from(e, o.qkv + to_k, e.packed_width, first_key, block));
  values.load(rows_from(e, o.qkv + to_v, e.packed_width, first_key, block));
  MmaSums<D> dk, dv;
  for (int sharer = 0; sharer < e.group; ++sharer) {
    AttentionHead head(e, first_head + sharer);
    ScoreDropout mask = o.mask(head);
    DocumentStarts starts(e, o.positions, head.sample);
    for (int first = e.causal ? first_key : 0; first < e.length; first += rows) {
      if (starts.of(first) >= first_key + block) break;  // nor do later queries see a key
      __syncthreads();                                   // the tiles before have been read
      queries.load(rows_from(e, o.qkv + head.packed, e.packed_width, first, rows));
      dys.load(rows_from(e, o.dy + head.plain, e.width, first, rows));
      if (threadIdx.x < rows)
        numbers[threadIdx.x] = numbers_of(e, o, head, starts, first + threadIdx.x);
      mask.draw<threads>(e, first, first_key, keep);
      __syncthreads();
      MmaSums<rows> p, ds;
      p.template add_products<T>(keys, queries);
      ds.template add_products<T>(values, dys);
      if (needs_mask(e, starts, first, rows, first_key, block))
        each_sum<rows>([&](int n, int i, int row, int column) {
          if (!sees(e, first + column, first_key + row, numbers[column].start)) p.at[n][i] = masked;
        });
      auto keep_sums = [&](MmaSums<rows>& sums) {
        if (e.dropout > 0)
          each_sum<rows>([&](int n, int i, int row, int column) {
            sums.at[n][i] *= keep.of(column, row) ? e.keep : 0.0f;
          });
      };
      keep_sums(ds);
      each_sum<rows>([&](int n, int i, int, int column) {
        differentiate(e, numbers[column], p.at[n][i], ds.at[n][i]);
      });
      keep_sums(p);
      dv.template add_weighted<T>(p, dys);
      dk.template add_weighted<T>(ds, queries);
    }
  }
  dk.store(rows_from(e, o.dqkv + to_k, e.packed_width, first_key, block));
  dv.store(rows_from(e, o.dqkv + to_v, e.packed_width, first_key, block));
}

// dq of 64 queries. Rows of the tiles are queries, columns keys.
template <int D, typename T>
__global__ void __launch_bounds__(threads, D > 64 ? 2 : 3)
    attention_mma_queries_kernel(AttentionExtents e, BackwardOperands<T> o) {
  __shared__ MmaTile<tile_keys, D> keys, values;
  __shared__ KeepBits<block, tile_keys> keep;

  // Longest first: when causal, the last blocks of queries see the most keys.
  int first_query = (e.blocks - 1 - static_cast<int>(blockIdx.x % e.blocks)) * block;
  AttentionHead head(e, blockIdx.x / e.blocks);
  ScoreDropout mask = o.mask(head);
  const T *q = o.qkv + head.packed, *k = q + head.to_keys, *v = k + e.kv_width;
  LeftRows<D> queries(rows_from(e, q, e.packed_width, first_query, block));
  LeftRows<D> dys(rows_from(e, o.dy + head.plain, e.width, first_query, block));
  DocumentStarts starts(e, o.positions, head.sample);
  int query = first_query + first_row() + group();
  QueryNumbers numbers[2] = {numbers_of(e, o, head, starts, query),
                             numbers_of(e, o, head, starts, query + 8)};
  MmaSums<D> dq;
  int first_tile = starts.of(first_query) / tile_keys * tile_keys;
  for (int first = first_tile; first < keys_of(e, first_query); first += tile_keys) {
    __syncthreads();  // the tiles before have been read
    keys.load(rows_from(e, k, e.packed_width, first, tile_keys));
    values.load(rows_from(e, v, e.packed_width, first, tile_keys));
    mask.draw<threads>(e, first_query, first, keep);
    __syncthreads();
    MmaSums<tile_keys> p, ds;
    p.template add_products<T>(queries, keys);
    ds.template add_products<T>(dys, values);
    if (needs_mask(e, starts, first_query, block, first, tile_keys))
      each_sum<tile_keys>([&](int n, int i, int row, int column) {
        if (!sees(e, first_query + row, first + column, numbers[i / 2].start)) p.at[n][i] = masked;
      });
    if (e.dropout > 0)
      each_sum<tile_keys>([&](int n, int i, int row, int column) {
        ds.at[n][i] *= keep.of(row, column) ? e.keep : 0.0f;
      });
    each_sum<tile_keys>(
        [&](int n, int i, int, int) { differentiate(e, numbers[i / 2], p.at[n][i], ds.at[n][i]); });
    dq.template add_weighted<T>(ds, keys);
  }
  dq.store(rows_from(e, o.dqkv + head.packed, e.packed_width, first_query, block));
}

}  // namespace

Kernel attention_cuda::make_mma_backward(const AttentionBackwardOp& op,
                                         const KernelRequest& request) {
  const TensorSpec& qkv = request.inputs[1];
  AttentionExtents e(op, op.attributes(), qkv.shape);
  return with_mma_kernel(qkv.dtype, e.size, [&]<typename T>(T, auto columns) {
    constexpr int D = columns.value;
    return attention_backward<T>(attention_mma_keys_kernel<D, T>,
                                 attention_mma_queries_kernel<D, T>, threads, e,
                                 op.attributes().documents);
  });
}

}  // namespace spire
