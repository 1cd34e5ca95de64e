// A thread takes whole heads: it goes through the blocks of queries, and each block's keys, and
// adds up the gradients of keys and values as it goes.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/elementary.h"
#include "kernels/ops/attention/attention_blocks.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

using namespace attention_blocks;
using tile_product::multiply;

// A thread's scratch. Of a head: keys as rows (blocks, 64, padded) and as columns (blocks, padded,
// 64), values as columns, gradients of keys and values (blocks, 64, padded). Of a block of queries:
// queries, dy and dq (64, padded), p and ds (64, 64), delta (64).
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
      : e_(attributes, request.inputs[1].shape, request.threads) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(e_.threads * AttentionBackwardScratch::floats(e_)) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    parallel_for(e_.threads, e_.batch * e_.heads, 1, [&](int64_t begin, int64_t end, int chunk) {
      AttentionBackwardScratch s(
          e_, static_cast<float*>(args.workspace) + chunk * AttentionBackwardScratch::floats(e_));
      for (int64_t i = begin; i < end; ++i) differentiate(head_of(args, i), s);
    });
  }

 private:
  // One head of one sample: its first row of q, dq, dy and y, and its logsumexp.
  struct HeadRows {
    const T* q;
    T* dq;
    const T *dy, *y;
    const float* logsumexp;
    DropoutMask mask;
  };

  HeadRows head_of(const KernelArgs& args, int64_t index) const {
    int64_t sample = index / e_.heads, head = index % e_.heads;
    int64_t packed = sample * e_.length * 3 * e_.width() + head * e_.size;
    int64_t plain = sample * e_.length * e_.width() + head * e_.size;
    int32_t key = e_.dropout > 0 ? *static_cast<const int32_t*>(args.inputs[4]) : 0;
    return {static_cast<const T*>(args.inputs[1]) + packed,
            static_cast<T*>(args.outputs[0]) + packed,
            static_cast<const T*>(args.inputs[0]) + plain,
            static_cast<const T*>(args.inputs[2]) + plain,
            static_cast<const float*>(args.inputs[3]) + index * e_.length,
            DropoutMask(e_, *args.step, key, sample, head)};
  }

  void differentiate(const HeadRows& head, const AttentionBackwardScratch& s) const {
    int64_t stride = 3 * e_.width();
    load_head(head, s);
    for (int64_t a = 0; a < e_.blocks; ++a) {
      load_queries(head, a, s);
      for (int64_t b = 0; b < e_.key_blocks(a); ++b) add_block(head, a, b, s);
      store_rows(e_, s.dq, e_.rows_of(a), e_.scale, head.dq + a * block * stride, stride);
    }
    for (int64_t b = 0; b < e_.blocks; ++b) {
      int64_t rows = e_.rows_of(b);
      T* dk = head.dq + b * block * stride + e_.width();
      store_rows(e_, s.dk + b * e_.block_floats(), rows, 1, dk, stride);
      store_rows(e_, s.dv + b * e_.block_floats(), rows, 1, dk + e_.width(), stride);
    }
  }

  void load_head(const HeadRows& head, const AttentionBackwardScratch& s) const {
    int64_t stride = 3 * e_.width();
    for (int64_t b = 0; b < e_.blocks; ++b) {
      int64_t rows = e_.rows_of(b), at = b * e_.block_floats();
      const T* k = head.q + b * block * stride + e_.width();
      load_rows(e_, k, stride, rows, 1, s.key_rows + at);
      load_columns(e_, k, stride, rows, s.keys + at);
      load_columns(e_, k + e_.width(), stride, rows, s.values + at);
    }
    std::fill_n(s.dk, e_.blocks * e_.block_floats(), 0.0f);
    std::fill_n(s.dv, e_.blocks * e_.block_floats(), 0.0f);
  }

  // Block `a` of queries, scaled, and of dy; delta_i = dy_i . y_i.
  void load_queries(const HeadRows& head, int64_t a, const AttentionBackwardScratch& s) const {
    int64_t rows = e_.rows_of(a), stride = 3 * e_.width(), first = a * block * e_.width();
    load_rows(e_, head.q + a * block * stride, stride, rows, e_.scale, s.queries);
    load_rows(e_, head.dy + first, e_.width(), rows, 1, s.dy);
    for (int64_t r = 0; r < rows; ++r) {
      FloatLanes lanes{};
      over_lanes(e_.size, [&](int64_t c, auto count) {
        lanes += load_floats(s.dy + r * e_.padded + c, lane_count) *
                 load_floats(head.y + first + r * e_.width() + c, count);
      });
      s.delta[r] = sum_of(lanes);
    }
  }

  // What block `a` of queries and block `b` of keys add to dq, dk and dv.
  void add_block(const HeadRows& head, int64_t a, int64_t b,
                 const AttentionBackwardScratch& s) const {
    int64_t rows = e_.rows_of(a), keys = e_.computed(a, b), at = b * e_.block_floats();
    multiply(rows, e_.padded, keys, {s.queries, e_.padded, 1}, {s.keys + at, block},
             {s.p, block, false});
    multiply(rows, e_.padded, keys, {s.dy, e_.padded, 1}, {s.values + at, block},
             {s.ds, block, false});
    for (int64_t r = 0; r < rows; ++r) differentiate_row(head, a * block + r, b, keys, s);
    multiply(keys, rows, e_.padded, {s.p, 1, block}, {s.dy, e_.padded},
             {s.dv + at, e_.padded, true});
    multiply(keys, rows, e_.padded, {s.ds, 1, block}, {s.queries, e_.padded},
             {s.dk + at, e_.padded, true});
    multiply(rows, keys, e_.padded, {s.ds, block, 1}, {s.key_rows + at, e_.padded},
             {s.dq, e_.padded, b > 0});
  }

  // p: scores become keep p. ds: dy . v become ds.
  void differentiate_row(const HeadRows& head, int64_t query, int64_t key_block, int64_t keys,
                         const AttentionBackwardScratch& s) const {
    int64_t r = query % block;
    float *p = s.p + r * block, *ds = s.ds + r * block, delta = s.delta[r];
    exponentiate(p, head.logsumexp[query], e_.seen(query, key_block), keys);
    if (e_.dropout == 0) {
#pragma omp simd
      for (int64_t j = 0; j < keys; ++j) ds[j] = p[j] * (ds[j] - delta);
      return;
    }
    alignas(64) float keep[block];
    head.mask.row(query, key_block, keep);
#pragma omp simd
    for (int64_t j = 0; j < keys; ++j) {
      ds[j] = p[j] * (keep[j] * ds[j] - delta);
      p[j] *= keep[j];
    }
  }

  HeadBlocks e_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const AttentionBackwardOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed<AttentionBackwardCpuKernel>(request.inputs[1].dtype, attributes, request);
}

}  // namespace spire::inline kernels
