// Attention backward on the CPU. A thread takes whole heads of keys and values, with all heads of
// queries that share one. For each block of 64 queries it goes through the blocks of keys, computes
// the scores again, and adds to dq, dk and dv: so each sum has one order and no two threads share
// one. All in fp32.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/elementary.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention_cpu.h"

namespace spire {

namespace {

using namespace attention_cpu;
using tile_product::multiply;

// Scratch of a thread. For a head of keys: keys as rows (blocks, 64, padded) and as columns
// (blocks, padded, 64), values as columns, gradients of keys and values (blocks, 64, padded). For a
// block of queries: queries, dy and dq (64, padded), p and ds (64, 64), delta (64).
struct AttentionBackwardScratch {
  float *key_rows, *keys, *values, *dk, *dv, *queries, *dy, *dq, *p, *ds, *delta;

  AttentionBackwardScratch(const HeadBlocks& e, float* at)
      : key_rows(at),
        keys(key_rows + e.blocks * e.block_floats()),
        values(keys + e.blocks * e.block_floats()),
        dk(values + e.blocks * e.block_floats()),
        dv(dk + e.blocks * e.block_floats()),
        queries(dv + e.blocks * e.block_floats()),
        dy(queries + e.block_floats()),
        dq(dy + e.block_floats()),
        p(dq + e.block_floats()),
        ds(p + block * block),
        delta(ds + block * block) {}

  static int64_t floats(const HeadBlocks& e) {
    return (5 * e.blocks + 3) * e.block_floats() + 2 * block * block + block;
  }
};

template <typename T>
struct AttentionBackwardCpu {
  HeadBlocks e;
  bool documents;

  void operator()(const KernelArgs& args) const {
    parallel_for(e.threads, e.batch * e.kv_heads, 1, [&](int64_t begin, int64_t end, int chunk) {
      AttentionBackwardScratch s(
          e, args.scratch<float>() + chunk * AttentionBackwardScratch::floats(e));
      for (int64_t i = begin; i < end; ++i) differentiate(args, i, s);
    });
  }

  // One head of one sample: its first row in q, k, their gradients, dy and y, and its logsumexp.
  struct HeadRows {
    const T *q, *k;
    T *dq, *dk;
    const T *dy, *y;
    const float* logsumexp;
    const int32_t* positions;  // null without documents
    DropoutMask mask;
  };

  HeadRows head_of(const KernelArgs& args, int64_t index) const {
    int64_t sample = index / e.heads, head = index % e.heads;
    int64_t packed = sample * e.length * e.packed;
    int64_t q = packed + e.queries_at(head), k = packed + e.keys_at(head);
    int64_t plain = sample * e.length * e.width() + head * e.size;
    int32_t key = e.dropout > 0 ? *args.in<int32_t>(4) : 0;
    auto qkv = args.in<T>(1);
    auto dqkv = args.out<T>(0);
    return {qkv + q,
            qkv + k,
            dqkv + q,
            dqkv + k,
            args.in<T>(0) + plain,
            args.in<T>(2) + plain,
            args.in<float>(3) + index * e.length,
            positions_of(args, sample),
            DropoutMask(e, *args.step, key, sample, head)};
  }

  const int32_t* positions_of(const KernelArgs& args, int64_t sample) const {
    if (!documents) return nullptr;
    return args.in<int32_t>(e.dropout > 0 ? 5 : 4) + sample * e.length;
  }

  // Head `index` of all samples' heads of keys and values.
  void differentiate(const KernelArgs& args, int64_t index,
                     const AttentionBackwardScratch& s) const {
    const HeadRows first = head_of(args, index * e.group);
    load_keys(first, s);
    for (int64_t i = 0; i < e.group; ++i) add_head(head_of(args, index * e.group + i), s);
    for (int64_t b = 0; b < e.blocks; ++b) {
      int64_t rows = e.rows_of(b);
      T* dk = first.dk + b * block * e.packed;
      store_rows(e, s.dk + b * e.block_floats(), rows, 1, dk, e.packed);
      store_rows(e, s.dv + b * e.block_floats(), rows, 1, dk + e.kv_width(), e.packed);
    }
  }

  // Writes dq of a head of queries, and adds its share to dk and dv.
  void add_head(const HeadRows& head, const AttentionBackwardScratch& s) const {
    for (int64_t a = 0; a < e.blocks; ++a) {
      load_queries(head, a, s);
      for (int64_t b = first_block(head, a); b < e.key_blocks(a); ++b) add_block(head, a, b, s);
      store_rows(e, s.dq, e.rows_of(a), e.scale, head.dq + a * block * e.packed, e.packed);
    }
  }

  // The first block of keys of which queries of block `a` see some.
  static int64_t first_block(const HeadRows& head, int64_t a) {
    return first_key(head.positions, a * block) / block;
  }

  void load_keys(const HeadRows& head, const AttentionBackwardScratch& s) const {
    for (int64_t b = 0; b < e.blocks; ++b) {
      int64_t rows = e.rows_of(b), at = b * e.block_floats();
      const T* k = head.k + b * block * e.packed;
      load_rows(e, k, e.packed, rows, 1, s.key_rows + at, block);
      load_columns(e, k, e.packed, rows, s.keys + at);
      load_columns(e, k + e.kv_width(), e.packed, rows, s.values + at);
    }
    std::fill_n(s.dk, e.blocks * e.block_floats(), 0.0f);
    std::fill_n(s.dv, e.blocks * e.block_floats(), 0.0f);
  }

  // Block `a` of queries, scaled, and of dy; delta_i = dy_i . y_i.
  void load_queries(const HeadRows& head, int64_t a, const AttentionBackwardScratch& s) const {
    int64_t rows = e.rows_of(a), first = a * block * e.width();
    load_rows(e, head.q + a * block * e.packed, e.packed, rows, e.scale, s.queries, rows);
    load_rows(e, head.dy + first, e.width(), rows, 1, s.dy, rows);
    for (int64_t r = 0; r < rows; ++r) {
      FloatLanes lanes{};
      over_lanes(e.size, [&](int64_t c, auto count) {
        lanes += load_floats(s.dy + r * e.padded + c, lane_count) *
                 load_floats(head.y + first + r * e.width() + c, count);
      });
      s.delta[r] = sum_of(lanes);
    }
  }

  // Adds the share of query block `a` and key block `b` to dq, dk and dv:
  //   dv += (keep p)^T dy    dk += ds^T q    dq += ds k
  // Where a causal mask cuts the block, in strips: queries from r on see the keys up to their own.
  void add_block(const HeadRows& head, int64_t a, int64_t b,
                 const AttentionBackwardScratch& s) const {
    bool cut = e.causal && a == b;
    int64_t rows = e.rows_of(a), step = cut ? strip : block, at = b * e.block_floats();
    int64_t all = whole_registers(cut ? rows : e.rows_of(b));
    for (int64_t r = 0; r < rows; r += step) {
      int64_t count = std::min(step, rows - r), keys = cut ? r + strip : all;
      make_scores(head, a, b, {r, count, keys}, s);
      multiply(count, keys, e.padded, {s.ds + r * block, block, 1}, {s.key_rows + at, e.padded},
               {s.dq + r * e.padded, e.padded, b > first_block(head, a)});
    }
    for (int64_t k = 0; k < all; k += step) {
      int64_t count = std::min(step, all - k), from = cut ? k : 0, to = at + k * e.padded;
      multiply(count, rows - from, e.padded, {s.p + from * block + k, 1, block},
               {s.dy + from * e.padded, e.padded}, {s.dv + to, e.padded, true});
      multiply(count, rows - from, e.padded, {s.ds + from * block + k, 1, block},
               {s.queries + from * e.padded, e.padded}, {s.dk + to, e.padded, true});
    }
  }

  struct ScoreRows {  // rows [first, first + count) of a block of scores, with `keys` columns
    int64_t first, count, keys;
  };

  // Sets p = keep p and ds of the rows.
  void make_scores(const HeadRows& head, int64_t a, int64_t b, const ScoreRows& rows,
                   const AttentionBackwardScratch& s) const {
    int64_t at = b * e.block_floats(), from = rows.first * e.padded, to = rows.first * block;
    multiply(rows.count, e.padded, rows.keys, {s.queries + from, e.padded, 1}, {s.keys + at, block},
             {s.p + to, block, false});
    multiply(rows.count, e.padded, rows.keys, {s.dy + from, e.padded, 1}, {s.values + at, block},
             {s.ds + to, block, false});
    for (int64_t r = rows.first; r < rows.first + rows.count; ++r)
      differentiate_row(head, a * block + r, b, rows.keys, s);
  }

  // In place: in p scores become keep p, in ds products dy . v become ds = p (keep dy . v - delta).
  void differentiate_row(const HeadRows& head, int64_t query, int64_t key_block, int64_t keys,
                         const AttentionBackwardScratch& s) const {
    int64_t r = query % block, seen = e.seen(query) - key_block * block;
    float *p = s.p + r * block, *ds = s.ds + r * block;
    int64_t hidden = first_key(head.positions, query) - key_block * block;  // ahead of those seen
    const float delta = s.delta[r], logsumexp = head.logsumexp[query];
    alignas(64) float keep[block];
    if (e.dropout > 0) head.mask.row(query, key_block, keep);
    for (int64_t j = 0; j < keys; j += lane_count) {
      FloatLanes share = exponential(load_floats(p + j, lane_count) - logsumexp);
      FloatLanes dp = load_floats(ds + j, lane_count), kept = share;
      if (seen < j + lane_count) kept = share = first_lanes(share, seen - j, 0);
      if (hidden > j) kept = share = without_first(share, hidden - j, 0);
      if (e.dropout > 0) {
        FloatLanes factors = load_floats(keep + j, lane_count);
        dp *= factors;
        kept *= factors;
      }
      store_floats(share * (dp - delta), ds + j, lane_count);
      store_floats(kept, p + j, lane_count);
    }
  }
};

}  // namespace

template <>
Kernel make_cpu(const AttentionBackwardOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[1].dtype, [&](auto type) {
    HeadBlocks e(op.attributes(), request.inputs[1].shape, request.threads);
    auto floats = static_cast<size_t>(e.threads * AttentionBackwardScratch::floats(e));
    return Kernel(AttentionBackwardCpu<decltype(type)>{e, op.attributes().documents},
                  floats * sizeof(float));
  });
}

}  // namespace spire
