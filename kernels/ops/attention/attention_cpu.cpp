// Attention forward on the CPU. A thread takes strips of 16 queries: their scores with all keys
// that they see, the softmax of each row, and the product with the values. The head's keys
// (transposed) and values lie in its scratch as fp32, as do the strip's scores.
#include "kernels/ops/attention/attention_cpu.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/kernel.h"

namespace spire {

namespace {

using namespace attention_cpu;
using tile_product::multiply;

// Scratch of a thread: keys (blocks, padded, 64) and values (blocks, 64, padded) of a head; queries
// and sums (16, padded) and scores (16, blocks * 64) of a strip.
struct AttentionScratch {
  float *keys, *values, *queries, *sums, *scores;

  AttentionScratch(const HeadBlocks& e, float* at)
      : keys(at),
        values(keys + e.blocks * e.block_floats()),
        queries(values + e.blocks * e.block_floats()),
        sums(queries + strip * e.padded),
        scores(sums + strip * e.padded) {}

  static int64_t floats(const HeadBlocks& e) {
    return 2 * e.blocks * e.block_floats() + 2 * strip * e.padded + strip * e.blocks * block;
  }
};

template <typename T>
struct AttentionCpu {
  HeadBlocks e;
  bool documents;
  int32_t op_id;

  void operator()(const KernelArgs& args) const {
    if (e.dropout > 0) *args.out<int32_t>(2) = op_id;
    int64_t heads = e.batch * e.heads, strips = e.strips();
    int64_t grain = heads >= e.threads ? strips : 1;
    parallel_for(e.threads, heads * strips, grain, [&](int64_t begin, int64_t end, int chunk) {
      AttentionScratch s(e, args.scratch<float>() + chunk * AttentionScratch::floats(e));
      for (int64_t item = begin; item < end; ++item) {
        bool other_keys = item % (strips * e.group) == 0;
        if (item == begin || other_keys) load_head(args, item / strips, s);
        attend(args, item / strips, item % strips * strip, s);
      }
    });
  }

  // The sample's qkv; head: of all samples' heads.
  const T* sample_of(const KernelArgs& args, int64_t head) const {
    return args.in<T>(0) + head / e.heads * e.length * e.packed;
  }

  // The sample's positions in documents; null without.
  const int32_t* positions_of(const KernelArgs& args, int64_t head) const {
    if (!documents) return nullptr;
    return args.in<int32_t>(1) + head / e.heads * e.length;
  }

  void load_head(const KernelArgs& args, int64_t head, const AttentionScratch& s) const {
    const T* first = sample_of(args, head) + e.keys_at(head % e.heads);
    for (int64_t b = 0; b < e.blocks; ++b) {
      const T* k = first + b * block * e.packed;
      load_columns(e, k, e.packed, e.rows_of(b), s.keys + b * e.block_floats());
      load_rows(e, k + e.kv_width(), e.packed, e.rows_of(b), 1, s.values + b * e.block_floats(),
                block);
    }
  }

  // The strip whose first query is `first`.
  void attend(const KernelArgs& args, int64_t head, int64_t first,
              const AttentionScratch& s) const {
    int64_t rows = std::min(strip, e.length - first);
    int64_t keys = whole_registers(e.seen(first + rows - 1)), pitch = e.blocks * block;
    const int32_t* positions = positions_of(args, head);
    int64_t from = first_key(positions, first) / block * block;
    const T* q = sample_of(args, head) + e.queries_at(head % e.heads);
    load_rows(e, q + first * e.packed, e.packed, rows, e.scale, s.queries, rows);
    for (int64_t key = from; key < keys; key += block) {
      multiply(rows, e.padded, std::min(block, keys - key), {s.queries, e.padded, 1},
               {s.keys + key * e.padded, block}, {s.scores + key, pitch, false});
    }
    SoftmaxRow softmax[strip];
    for (int64_t r = 0; r < rows; ++r) {
      float* row = s.scores + r * pitch;
      softmax[r] = positions ? exponentiate_from(row, from, first_key(positions, first + r),
                                                 e.seen(first + r))
                             : exponentiate(row, e.seen(first + r));
    }
    if (e.dropout > 0) drop(args, head, first, rows, from, keys, s.scores);
    multiply(rows, keys - from, e.padded, {s.scores + from, pitch, 1},
             {s.values + from * e.padded, e.padded}, {s.sums, e.padded, false});
    finish(args, head, first, {softmax, static_cast<size_t>(rows)}, s.sums);
  }

  void drop(const KernelArgs& args, int64_t head, int64_t first, int64_t rows, int64_t from,
            int64_t keys, float* scores) const {
    DropoutMask mask(e, *args.step, op_id, head / e.heads, head % e.heads);
    alignas(64) float keep[block];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t key = from; key < keys; key += block) {
        mask.row(first + r, key / block, keep);
        float* row = scores + r * e.blocks * block + key;
        for (int64_t j = 0; j < std::min(block, keys - key); ++j) row[j] *= keep[j];
      }
    }
  }

  // Divides the sums by the rows' totals.
  void finish(const KernelArgs& args, int64_t head, int64_t first, std::span<const SoftmaxRow> rows,
              const float* sums) const {
    auto logsumexp = args.out<float>(1) + head * e.length + first;
    int64_t sample = head / e.heads;
    T* y = args.out<T>(0) + (sample * e.length + first) * e.width() + head % e.heads * e.size;
    for (size_t r = 0; r < rows.size(); ++r) {
      logsumexp[r] = rows[r].most + std::log(rows[r].total);
      auto at = static_cast<int64_t>(r);
      store_rows(e, sums + at * e.padded, 1, 1 / rows[r].total, y + at * e.width(), e.width());
    }
  }
};

}  // namespace

template <>
Kernel make_cpu(const AttentionOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    HeadBlocks e(op.attributes(), request.inputs[0].shape, request.threads);
    if (e.dropout > 0) dropout_key(op, request.op_id);
    return Kernel(AttentionCpu<decltype(type)>{e, op.attributes().documents, request.op_id},
                  static_cast<size_t>(e.threads * AttentionScratch::floats(e)) * sizeof(float));
  });
}

}  // namespace spire
