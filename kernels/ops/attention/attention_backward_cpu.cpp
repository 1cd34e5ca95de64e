// Attention backward on the CPU. A thread takes whole heads of keys and values, with all heads of
// queries that share one. For each block of 64 queries it goes through the blocks of keys, computes
// the scores again, and adds to dq, dk and dv: so each sum has one order and no two threads share
// one. All in fp32.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/elementary.h"
#include "kernels/ops/attention/attention_cpu.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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
class AttentionBackwardCpuKernel : public Kernel {
 public:
  AttentionBackwardCpuKernel(const AttentionAttributes& attributes, const KernelRequest& request)
      : e_(attributes, request.inputs[1].shape, request.threads),
        documents_(attributes.documents) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(e_.threads * AttentionBackwardScratch::floats(e_)) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    parallel_for(e_.threads, e_.batch * e_.kv_heads, 1, [&](int64_t begin, int64_t end, int chunk) {
      AttentionBackwardScratch s(
          e_, static_cast<float*>(args.workspace) + chunk * AttentionBackwardScratch::floats(e_));
      for (int64_t i = begin; i < end; ++i) differentiate(args, i, s);
    });
  }

 private:
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
    int64_t sample = index / e_.heads, head = index % e_.heads;
    int64_t packed = sample * e_.length * e_.packed;
    int64_t q = packed + e_.queries_at(head), k = packed + e_.keys_at(head);
    int64_t plain = sample * e_.length * e_.width() + head * e_.size;
    int32_t key = e_.dropout > 0 ? *static_cast<const int32_t*>(args.inputs[4]) : 0;
    auto qkv = static_cast<const T*>(args.inputs[1]);
    auto dqkv = static_cast<T*>(args.outputs[0]);
    return {qkv + q,
            qkv + k,
            dqkv + q,
            dqkv + k,
            static_cast<const T*>(args.inputs[0]) + plain,
            static_cast<const T*>(args.inputs[2]) + plain,
            static_cast<const float*>(args.inputs[3]) + index * e_.length,
            positions_of(args, sample),
            DropoutMask(e_, *args.step, key, sample, head)};
  }

  const int32_t* positions_of(const KernelArgs& args, int64_t sample) const {
    if (!documents_) return nullptr;
    return static_cast<const int32_t*>(args.inputs[e_.dropout > 0 ? 5 : 4]) + sample * e_.length;
  }

  // Head `index` of all samples' heads of keys and values.
  void differentiate(const KernelArgs& args, int64_t index,
                     const AttentionBackwardScratch& s) const {
    const HeadRows first = head_of(args, index * e_.group);
    load_keys(first, s);
    for (int64_t i = 0; i < e_.group; ++i) add_head(head_of(args, index * e_.group + i), s);
    for (int64_t b = 0; b < e_.blocks; ++b) {
      int64_t rows = e_.rows_of(b);
      T* dk = first.dk + b * block * e_.packed;
      store_rows(e_, s.dk + b * e_.block_floats(), rows, 1, dk, e_.packed);
      store_rows(e_, s.dv + b * e_.block_floats(), rows, 1, dk + e_.kv_width(), e_.packed);
    }
  }

  // Writes dq of a head of queries, and adds its share to dk and dv.
  void add_head(const HeadRows& head, const AttentionBackwardScratch& s) const {
    for (int64_t a = 0; a < e_.blocks; ++a) {
      load_queries(head, a, s);
      for (int64_t b = first_block(head, a); b < e_.key_blocks(a); ++b) add_block(head, a, b, s);
      store_rows(e_, s.dq, e_.rows_of(a), e_.scale, head.dq + a * block * e_.packed, e_.packed);
    }
  }

  // The first block of keys of which queries of block `a` see some.
  static int64_t first_block(const HeadRows& head, int64_t a) {
    return first_key(head.positions, a * block) / block;
  }

  void load_keys(const HeadRows& head, const AttentionBackwardScratch& s) const {
    for (int64_t b = 0; b < e_.blocks; ++b) {
      int64_t rows = e_.rows_of(b), at = b * e_.block_floats();
      const T* k = head.k + b * block * e_.packed;
      load_rows(e_, k, e_.packed, rows, 1, s.key_rows + at, block);
      load_columns(e_, k, e_.packed, rows, s.keys + at);
      load_columns(e_, k + e_.kv_width(), e_.packed, rows, s.values + at);
    }
    std::fill_n(s.dk, e_.blocks * e_.block_floats(), 0.0f);
    std::fill_n(s.dv, e_.blocks * e_.block_floats(), 0.0f);
  }

  // Block `a` of queries, scaled, and of dy; delta_i = dy_i . y_i.
  void load_queries(const HeadRows& head, int64_t a, const AttentionBackwardScratch& s) const {
    int64_t rows = e_.rows_of(a), first = a * block * e_.width();
    load_rows(e_, head.q + a * block * e_.packed, e_.packed, rows, e_.scale, s.queries, rows);
    load_rows(e_, head.dy + first, e_.width(), rows, 1, s.dy, rows);
    for (int64_t r = 0; r < rows; ++r) {
      FloatLanes lanes{};
      over_lanes(e_.size, [&](int64_t c, auto count) {
        lanes += load_floats(s.dy + r * e_.padded + c, lane_count) *
                 load_floats(head.y + first + r * e_.width() + c, count);
      });
      s.delta[r] = sum_of(lanes);
    }
  }

  // Adds the share of query block `a` and key block `b` to dq, dk and dv:
  //   dv += (keep p)^T dy    dk += ds^T q    dq += ds k
  // Where a causal mask cuts the block, in strips: queries from r on see the keys up to their own.
  void add_block(const HeadRows& head, int64_t a, int64_t b,
                 const AttentionBackwardScratch& s) const {
    bool cut = e_.causal && a == b;
    int64_t rows = e_.rows_of(a), step = cut ? strip : block, at = b * e_.block_floats();
    int64_t all = whole_registers(cut ? rows : e_.rows_of(b));
    for (int64_t r = 0; r < rows; r += step) {
      int64_t count = std::min(step, rows - r), keys = cut ? r + strip : all;
      make_scores(head, a, b, {r, count, keys}, s);
      multiply(count, keys, e_.padded, {s.ds + r * block, block, 1}, {s.key_rows + at, e_.padded},
               {s.dq + r * e_.padded, e_.padded, b > first_block(head, a)});
    }
    for (int64_t k = 0; k < all; k += step) {
      int64_t count = std::min(step, all - k), from = cut ? k : 0, to = at + k * e_.padded;
      multiply(count, rows - from, e_.padded, {s.p + from * block + k, 1, block},
               {s.dy + from * e_.padded, e_.padded}, {s.dv + to, e_.padded, true});
      multiply(count, rows - from, e_.padded, {s.ds + from * block + k, 1, block},
               {s.queries + from * e_.padded, e_.padded}, {s.dk + to, e_.padded, true});
    }
  }

  struct ScoreRows {  // rows [first, first + count) of a block of scores, with `keys` columns
    int64_t first, count, keys;
  };

  // Sets p = keep p and ds of the rows.
  void make_scores(const HeadRows& head, int64_t a, int64_t b, const ScoreRows& rows,
                   const AttentionBackwardScratch& s) const {
    int64_t at = b * e_.block_floats(), from = rows.first * e_.padded, to = rows.first * block;
    multiply(rows.count, e_.padded, rows.keys, {s.queries + from, e_.padded, 1},
             {s.keys + at, block}, {s.p + to, block, false});
    multiply(rows.count, e_.padded, rows.keys, {s.dy + from, e_.padded, 1}, {s.values + at, block},
             {s.ds + to, block, false});
    for (int64_t r = rows.first; r < rows.first + rows.count; ++r)
      differentiate_row(head, a * block + r, b, rows.keys, s);
  }

  // In place: in p scores become keep p, in ds products dy . v become ds = p (keep dy . v - delta).
  void differentiate_row(const HeadRows& head, int64_t query, int64_t key_block, int64_t keys,
                         const AttentionBackwardScratch& s) const {
    int64_t r = query % block, seen = e_.seen(query) - key_block * block;
    float *p = s.p + r * block, *ds = s.ds + r * block;
    int64_t hidden = first_key(head.positions, query) - key_block * block;  // ahead of those seen
    const float delta = s.delta[r], logsumexp = head.logsumexp[query];
    alignas(64) float keep[block];
    if (e_.dropout > 0) head.mask.row(query, key_block, keep);
    for (int64_t j = 0; j < keys; j += lane_count) {
      FloatLanes share = exponential(load_floats(p + j, lane_count) - logsumexp);
      FloatLanes dp = load_floats(ds + j, lane_count), kept = share;
      if (seen < j + lane_count) kept = share = first_lanes(share, seen - j, 0);
      if (hidden > j) kept = share = without_first(share, hidden - j, 0);
      if (e_.dropout > 0) {
        FloatLanes factors = load_floats(keep + j, lane_count);
        dp *= factors;
        kept *= factors;
      }
      store_floats(share * (dp - delta), ds + j, lane_count);
      store_floats(kept, p + j, lane_count);
    }
  }

  HeadBlocks e_;
  bool documents_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const AttentionBackwardOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed<AttentionBackwardCpuKernel>(request.inputs[1].dtype, attributes, request);
}

}  // namespace spire::inline kernels
