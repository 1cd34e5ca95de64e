// Attention forward on the CPU. A thread takes blocks of 64 queries and goes through the key blocks
// of their head with an online softmax: it keeps the largest score and the sum of exponentials so
// far, and rescales both and y when a larger score appears. The head's keys (transposed) and values
// lie in its scratch as fp32.
#include "kernels/ops/attention/attention_cpu.h"

#include <limits>

#include <Eigen/Core>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/elementary.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

using namespace attention_cpu;
using tile_product::multiply;

// Scratch of a thread: keys (blocks, padded, 64) and values (blocks, 64, padded) of a head; queries
// and sums (64, padded), scores (64, 64); of each query the largest score and the sum so far.
struct AttentionScratch {
  float *keys, *values, *queries, *sums, *scores, *most, *total;

  AttentionScratch(const HeadBlocks& e, float* at)
      : keys(at),
        values(keys + e.blocks * e.block_floats()),
        queries(values + e.blocks * e.block_floats()),
        sums(queries + e.block_floats()),
        scores(sums + e.block_floats()),
        most(scores + block * block),
        total(most + block) {}

  static int64_t floats(const HeadBlocks& e) {
    return (2 * e.blocks + 2) * e.block_floats() + block * block + 2 * block;
  }
};

// Returns the largest of the first `seen` numbers. Overwrites those from there to `computed`, which
// fill whole registers.
float largest(float* row, int64_t seen, int64_t computed) {
  std::fill(row + seen, row + computed, row[0]);
  FloatLanes most = load_floats(row, lane_count);
  for (int64_t j = lane_count; j < computed; j += lane_count) {
    most = larger(most, load_floats(row + j, lane_count));
  }
  return largest_of(most);
}

void scale_row(const HeadBlocks& e, float factor, float* row) {
  Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64>(row, e.padded) *= factor;
}

float sum_row(const float* row, int64_t n) {
  FloatLanes lanes{};
  for (int64_t j = 0; j < n; j += lane_count) lanes += load_floats(row + j, lane_count);
  return sum_of(lanes);
}

template <typename T>
class AttentionCpuKernel : public Kernel {
 public:
  AttentionCpuKernel(const AttentionAttributes& attributes, const KernelRequest& request)
      : e_(attributes, request.inputs[0].shape, request.threads), op_id_(request.op_id) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(e_.threads * AttentionScratch::floats(e_)) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    if (e_.dropout > 0) *static_cast<int32_t*>(args.outputs[2]) = op_id_;
    int64_t heads = e_.batch * e_.heads;
    int64_t grain = heads >= e_.threads ? e_.blocks : 1;
    parallel_for(e_.threads, heads * e_.blocks, grain, [&](int64_t begin, int64_t end, int chunk) {
      AttentionScratch s(
          e_, static_cast<float*>(args.workspace) + chunk * AttentionScratch::floats(e_));
      for (int64_t item = begin; item < end; ++item) {
        int64_t head = item / e_.blocks, query_block = item % e_.blocks;
        if (item == begin || query_block == 0) load_head(columns_of(args, head), s);
        attend(args, head, query_block, s);
      }
    });
  }

 private:
  // The first row of q of head `head` of all samples' heads; k lies C columns on, v 2C.
  const T* columns_of(const KernelArgs& args, int64_t head) const {
    int64_t sample = head / e_.heads;
    return static_cast<const T*>(args.inputs[0]) + sample * e_.length * 3 * e_.width() +
           head % e_.heads * e_.size;
  }

  void load_head(const T* q, const AttentionScratch& s) const {
    int64_t stride = 3 * e_.width();
    for (int64_t b = 0; b < e_.blocks; ++b) {
      const T* k = q + b * block * stride + e_.width();
      load_columns(e_, k, stride, e_.rows_of(b), s.keys + b * e_.block_floats());
      load_rows(e_, k + e_.width(), stride, e_.rows_of(b), 1, s.values + b * e_.block_floats());
    }
  }

  void attend(const KernelArgs& args, int64_t head, int64_t query_block,
              const AttentionScratch& s) const {
    int64_t rows = e_.rows_of(query_block), stride = 3 * e_.width();
    const T* q = columns_of(args, head) + query_block * block * stride;
    load_rows(e_, q, stride, rows, e_.scale, s.queries);
    std::fill_n(s.most, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(s.total, rows, 0.0f);
    DropoutMask mask(e_, *args.step, op_id_, head / e_.heads, head % e_.heads);
    for (int64_t b = 0; b < e_.key_blocks(query_block); ++b) {
      int64_t computed = e_.computed(query_block, b), at = b * e_.block_floats();
      multiply(rows, e_.padded, computed, {s.queries, e_.padded, 1}, {s.keys + at, block},
               {s.scores, block, false});
      for (int64_t r = 0; r < rows; ++r) soften(query_block * block + r, b, computed, mask, s);
      multiply(rows, computed, e_.padded, {s.scores, block, 1}, {s.values + at, e_.padded},
               {s.sums, e_.padded, b > 0});
    }
    finish(args, head, query_block, s);
  }

  // Turns a row of scores into e^(score - most) with `most` the largest so far. Sums made with an
  // earlier largest are rescaled by e^(earlier - most).
  void soften(int64_t query, int64_t key_block, int64_t computed, const DropoutMask& mask,
              const AttentionScratch& s) const {
    int64_t r = query % block, seen = e_.seen(query, key_block);
    float* row = s.scores + r * block;
    float most = std::max(s.most[r], largest(row, seen, computed));
    exponentiate(row, most, seen, computed);
    float factor = exponential(s.most[r] - most);
    s.most[r] = most;
    s.total[r] = s.total[r] * factor + sum_row(row, computed);
    if (key_block > 0) scale_row(e_, factor, s.sums + r * e_.padded);
    if (e_.dropout == 0) return;
    alignas(64) float keep[block];
    mask.row(query, key_block, keep);
    for (int64_t j = 0; j < computed; ++j) row[j] *= keep[j];
  }

  void finish(const KernelArgs& args, int64_t head, int64_t query_block,
              const AttentionScratch& s) const {
    int64_t rows = e_.rows_of(query_block), first = query_block * block;
    auto logsumexp = static_cast<float*>(args.outputs[1]) + head * e_.length + first;
    for (int64_t r = 0; r < rows; ++r) {
      logsumexp[r] = s.most[r] + std::log(s.total[r]);
      scale_row(e_, 1 / s.total[r], s.sums + r * e_.padded);
    }
    int64_t sample = head / e_.heads;
    T* y = static_cast<T*>(args.outputs[0]) + (sample * e_.length + first) * e_.width() +
           head % e_.heads * e_.size;
    store_rows(e_, s.sums, rows, 1, y, e_.width());
  }

  HeadBlocks e_;
  int32_t op_id_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const AttentionOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed<AttentionCpuKernel>(request.inputs[0].dtype, attributes, request);
}

}  // namespace spire::inline kernels
