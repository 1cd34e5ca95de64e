// Attention backward on plain cores, in fp32, in three kernels: delta_i = dy_i . y_i; then dk and
// dv, a block of keys going through the queries that see it; then dq, a block of queries going
// through its keys. The last two both compute the scores again: that costs a product, but no sum
// needs atomics, so each sum has one order and the bits repeat. For attention's .cu files, one for
// each dtype, as these kernels take long to compile.
#pragma once
#include "engine/device/cuda_kernel.h"
#include "kernels/elementary.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention_plain_cuda.h"

namespace spire::attention_cuda {

// Returns keep p and ds of a query and a key. s: their score q_i . k_j / sqrt(D); product: dy_i .
// v_j.
struct Differentials {
  float p, ds;  // keep p, and ds
};
__device__ inline Differentials differentiate(float s, float product, float logsumexp, float delta,
                                              float keep) {
  float p = exponential(s - logsumexp);
  return {keep * p, p * (keep * product - delta)};
}

// dk and dv of 64 keys, from all heads of queries that share them. Rows of the tiles are keys,
// columns queries.
template <int D, bool packs, typename T>
__global__ void __launch_bounds__(threads, blocks_an_sm<D>)
    attention_plain_keys_kernel(AttentionExtents e, BackwardOperands<T> o) {
  __shared__ AttentionShared shared;
  auto key_block = static_cast<int>(blockIdx.x % e.blocks);  // when causal, the longest first
  unsigned first = blockIdx.x / e.blocks * e.group;
  ResultRows<D> dk, dv;
  for (int sharer = 0; sharer < e.group; ++sharer) {
    AttentionHead head(e, first + sharer);
    ScoreDropout mask = o.mask(head);
    DocumentStarts starts(e, o.positions, head.sample);
    const T* q = o.qkv + head.packed;
    auto keys = rows_of(e, q + head.to_keys, e.packed_width, key_block);
    auto values = rows_of(e, q + head.to_keys + e.kv_width, e.packed_width, key_block);
    for (int a = e.causal ? key_block : 0; a < e.blocks; ++a) {
      if (starts.of(a * block) >= (key_block + 1) * block) break;  // nor do later ones see a key
      auto queries = rows_of(e, q, e.packed_width, a, e.scale);
      auto dy = rows_of(e, o.dy + head.plain, e.width, a);
      mask.draw<threads>(e, a * block, key_block * block, shared.keep);
      float p[team_rows][team_rows] = {}, ds[team_rows][team_rows] = {};
      add_products<packs>(keys, queries, shared, p);
      add_products<packs>(values, dy, shared, ds);
#pragma unroll
      for (int j = 0; j < team_rows; ++j) {
        int column = member() + members * j;
        int query = a * block + column;
        bool inside = query < e.length;
        float l = inside ? o.logsumexp[head.row + query] : 0.0f;
        float delta = inside ? o.delta[head.row + query] : 0.0f;
        int start = starts.of(query);
        for (int r = 0; r < team_rows; ++r) {
          int row = team_rows * team() + r, key = key_block * block + row;
          Differentials d{0, 0};
          if (e.sees(query, key) && key >= start)
            d = differentiate(p[r][j], ds[r][j], l, delta, keep_of(e, shared.keep, column, row));
          p[r][j] = d.p;
          ds[r][j] = d.ds;
        }
      }
      share_scores(p, shared);
      dv.template add<packs>(dy, shared);
      share_scores(ds, shared);
      dk.template add<packs>(queries, shared);
    }
  }
  constexpr float ones[team_rows] = {1, 1, 1, 1};
  AttentionHead head(e, first);
  T* to_k = o.dqkv + head.packed + head.to_keys;
  dk.template store<packs>(rows_of(e, to_k, e.packed_width, key_block), ones);
  dv.template store<packs>(rows_of(e, to_k + e.kv_width, e.packed_width, key_block), ones);
}

// Numbers of a query from which p and ds follow, in shared memory: registers are few.
struct RowNumbers {
  float logsumexp, delta;
  int start;  // the first key that it sees
};

// dq of 64 queries. Rows of the tiles are queries, columns keys.
template <int D, bool packs, typename T>
__global__ void __launch_bounds__(threads, blocks_an_sm<D>)
    attention_plain_queries_kernel(AttentionExtents e, BackwardOperands<T> o) {
  __shared__ AttentionShared shared;
  __shared__ RowNumbers numbers[block];
  auto index = static_cast<int>(blockIdx.x % e.blocks);
  int query_block = e.blocks - 1 - index;  // when causal, the longest first
  AttentionHead head(e, blockIdx.x / e.blocks);
  ScoreDropout mask = o.mask(head);
  const T* q = o.qkv + head.packed;
  auto queries = rows_of(e, q, e.packed_width, query_block, e.scale);
  auto dy = rows_of(e, o.dy + head.plain, e.width, query_block);
  DocumentStarts starts(e, o.positions, head.sample);
  if (threadIdx.x < block) {
    int row = static_cast<int>(threadIdx.x), query = query_block * block + row;
    bool inside = row < queries.rows;
    numbers[row] = {inside ? o.logsumexp[head.row + query] : 0.0f,
                    inside ? o.delta[head.row + query] : 0.0f, starts.of(query)};
  }
  ResultRows<D> dq;
  int key_blocks = e.causal ? query_block + 1 : e.blocks;
  for (int b = starts.of(query_block * block) / block; b < key_blocks; ++b) {
    auto keys = rows_of(e, q + head.to_keys, e.packed_width, b);
    auto values = rows_of(e, q + head.to_keys + e.kv_width, e.packed_width, b);
    mask.draw<threads>(e, query_block * block, b * block, shared.keep);
    float s[team_rows][team_rows] = {}, ds[team_rows][team_rows] = {};
    add_products<packs>(queries, keys, shared, s);
    add_products<packs>(dy, values, shared, ds);
#pragma unroll
    for (int r = 0; r < team_rows; ++r) {
      int row = team_rows * team() + r;
      RowNumbers of_row = numbers[row];
#pragma unroll
      for (int j = 0; j < team_rows; ++j) {
        int column = member() + members * j, key = b * block + column;
        Differentials d{0, 0};
        if (e.sees(query_block * block + row, key) && key >= of_row.start)
          d = differentiate(s[r][j], ds[r][j], of_row.logsumexp, of_row.delta,
                            keep_of(e, shared.keep, row, column));
        ds[r][j] = d.ds;
      }
    }
    share_scores(ds, shared);
    dq.template add<packs>(keys, shared);
  }
  constexpr float ones[team_rows] = {1, 1, 1, 1};
  auto to = rows_of(e, o.dqkv + head.packed, e.packed_width, query_block, e.scale);
  dq.template store<packs>(to, ones);
}

template <typename T>
Kernel make_typed_plain_backward(const AttentionBackwardOp& op, const KernelRequest& request) {
  AttentionExtents e(op, op.attributes(), request.inputs[1].shape);
  return with_plain_size<T>(e.size, [&](auto columns, auto packs) {
    constexpr int D = columns.value;
    return attention_backward<T>(attention_plain_keys_kernel<D, packs.value, T>,
                                 attention_plain_queries_kernel<D, packs.value, T>, threads, e,
                                 op.attributes().documents);
  });
}

}  // namespace spire::attention_cuda
