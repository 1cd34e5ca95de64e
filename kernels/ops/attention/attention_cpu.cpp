// Attention forward on the CPU. A thread takes strips of 16 queries: their scores with all keys
// that they see, the softmax of each row, and the product with the values. The head's keys
// (transposed) and values lie in its scratch as fp32, as do the strip's scores.
#include "kernels/ops/attention/attention_cpu.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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
class AttentionCpuKernel : public Kernel {
 public:
  AttentionCpuKernel(const AttentionAttributes& attributes, const KernelRequest& request)
      : e_(attributes, request.inputs[0].shape, request.threads),
        documents_(attributes.documents),
        op_id_(request.op_id) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(e_.threads * AttentionScratch::floats(e_)) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    if (e_.dropout > 0) *static_cast<int32_t*>(args.outputs[2]) = op_id_;
    int64_t heads = e_.batch * e_.heads, strips = e_.strips();
    int64_t grain = heads >= e_.threads ? strips : 1;
    parallel_for(e_.threads, heads * strips, grain, [&](int64_t begin, int64_t end, int chunk) {
      AttentionScratch s(
          e_, static_cast<float*>(args.workspace) + chunk * AttentionScratch::floats(e_));
      for (int64_t item = begin; item < end; ++item) {
        bool other_keys = item % (strips * e_.group) == 0;
        if (item == begin || other_keys) load_head(args, item / strips, s);
        attend(args, item / strips, item % strips * strip, s);
      }
    });
  }

 private:
  // The sample's qkv; head: of all samples' heads.
  const T* sample_of(const KernelArgs& args, int64_t head) const {
    return static_cast<const T*>(args.inputs[0]) + head / e_.heads * e_.length * e_.packed;
  }

  // The sample's positions in documents; null without.
  const int32_t* positions_of(const KernelArgs& args, int64_t head) const {
    if (!documents_) return nullptr;
    return static_cast<const int32_t*>(args.inputs[1]) + head / e_.heads * e_.length;
  }

  void load_head(const KernelArgs& args, int64_t head, const AttentionScratch& s) const {
    const T* first = sample_of(args, head) + e_.keys_at(head % e_.heads);
    for (int64_t b = 0; b < e_.blocks; ++b) {
      const T* k = first + b * block * e_.packed;
      load_columns(e_, k, e_.packed, e_.rows_of(b), s.keys + b * e_.block_floats());
      load_rows(e_, k + e_.kv_width(), e_.packed, e_.rows_of(b), 1,
                s.values + b * e_.block_floats(), block);
    }
  }

  // The strip whose first query is `first`.
  void attend(const KernelArgs& args, int64_t head, int64_t first,
              const AttentionScratch& s) const {
    int64_t rows = std::min(strip, e_.length - first);
    int64_t keys = whole_registers(e_.seen(first + rows - 1)), pitch = e_.blocks * block;
    const int32_t* positions = positions_of(args, head);
    int64_t from = first_key(positions, first) / block * block;
    const T* q = sample_of(args, head) + e_.queries_at(head % e_.heads);
    load_rows(e_, q + first * e_.packed, e_.packed, rows, e_.scale, s.queries, rows);
    for (int64_t key = from; key < keys; key += block) {
      multiply(rows, e_.padded, std::min(block, keys - key), {s.queries, e_.padded, 1},
               {s.keys + key * e_.padded, block}, {s.scores + key, pitch, false});
    }
    SoftmaxRow softmax[strip];
    for (int64_t r = 0; r < rows; ++r) {
      float* row = s.scores + r * pitch;
      softmax[r] = positions ? exponentiate_from(row, from, first_key(positions, first + r),
                                                 e_.seen(first + r))
                             : exponentiate(row, e_.seen(first + r));
    }
    if (e_.dropout > 0) drop(args, head, first, rows, from, keys, s.scores);
    multiply(rows, keys - from, e_.padded, {s.scores + from, pitch, 1},
             {s.values + from * e_.padded, e_.padded}, {s.sums, e_.padded, false});
    finish(args, head, first, {softmax, static_cast<size_t>(rows)}, s.sums);
  }

  void drop(const KernelArgs& args, int64_t head, int64_t first, int64_t rows, int64_t from,
            int64_t keys, float* scores) const {
    DropoutMask mask(e_, *args.step, op_id_, head / e_.heads, head % e_.heads);
    alignas(64) float keep[block];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t key = from; key < keys; key += block) {
        mask.row(first + r, key / block, keep);
        float* row = scores + r * e_.blocks * block + key;
        for (int64_t j = 0; j < std::min(block, keys - key); ++j) row[j] *= keep[j];
      }
    }
  }

  // Divides the sums by the rows' totals.
  void finish(const KernelArgs& args, int64_t head, int64_t first, std::span<const SoftmaxRow> rows,
              const float* sums) const {
    auto logsumexp = static_cast<float*>(args.outputs[1]) + head * e_.length + first;
    int64_t sample = head / e_.heads;
    T* y = static_cast<T*>(args.outputs[0]) + (sample * e_.length + first) * e_.width() +
           head % e_.heads * e_.size;
    for (size_t r = 0; r < rows.size(); ++r) {
      logsumexp[r] = rows[r].most + std::log(rows[r].total);
      auto at = static_cast<int64_t>(r);
      store_rows(e_, sums + at * e_.padded, 1, 1 / rows[r].total, y + at * e_.width(), e_.width());
    }
  }

  HeadBlocks e_;
  bool documents_;
  int32_t op_id_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const AttentionOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed<AttentionCpuKernel>(request.inputs[0].dtype, attributes, request);
}

}  // namespace spire::inline kernels
