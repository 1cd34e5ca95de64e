// On plain cores: a block of threads takes a block of queries and goes through its keys, with a
// softmax that follows.
#include <limits>

#include "engine/device/cuda_launch.h"
#include "kernels/elementary.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention_cuda.h"
#include "kernels/ops/attention/attention_mma.h"

namespace spire::inline kernels {

namespace {

using namespace attention_cuda;

template <typename T>
struct PlainForwardOperands {
  const T* qkv;
  const StepContext* step;
  T* y;
  float* logsumexp;
  int32_t* key;  // with dropout
  int32_t op_id;
};

// The softmax so far of a thread's rows: the largest score, and the thread's share of the sum.
struct PlainSoftmax {
  float most[team_rows], total[team_rows] = {};

  __device__ PlainSoftmax() {
    for (float& value : most) value = -std::numeric_limits<float>::infinity();
  }

  // A row of scores becomes keep e^(score - most). What was summed about an earlier largest is
  // scaled to this one.
  template <int D>
  __device__ void soften(const AttentionExtents& e, const AttentionShared& shared, int query_block,
                         int key_block, int r, float (&scores)[team_rows], ResultRows<D>& sum) {
    int query = team_rows * team() + r;
    bool seen[team_rows];
    float largest = most[r];
    for (int j = 0; j < team_rows; ++j) {
      // RowView behind the last are as the last: they have scores, which nobody stores.
      int last = e.length - 1, at = query_block * block + query;
      int key = key_block * block + member() + members * j;
      seen[j] = e.sees(at < last ? at : last, key);
      if (seen[j] && scores[j] > largest) largest = scores[j];
    }
    largest = team_reduce(largest, Maximum{});
    float factor = exponential(most[r] - largest);
    most[r] = largest;
    total[r] *= factor;
    sum.scale_row(r, factor);
    for (int j = 0; j < team_rows; ++j) {
      float p = seen[j] ? exponential(scores[j] - largest) : 0.0f;
      total[r] += p;
      scores[j] = p * keep_of(e, shared.keep, query, member() + members * j);
    }
  }
};

template <int D, bool packs, typename T>
__global__ void __launch_bounds__(threads, 2)
    attention_plain_kernel(AttentionExtents e, PlainForwardOperands<T> o) {
  __shared__ AttentionShared shared;
  // The longest first: when causal, the last blocks of queries see the most keys.
  auto index = static_cast<int>(blockIdx.x % e.blocks);
  int query_block = e.blocks - 1 - index;
  AttentionHead head(e, blockIdx.x / e.blocks);
  ScoreDropout mask{o.step, o.op_id, head.sample, head.head};
  if (blockIdx.x == 0 && threadIdx.x == 0 && o.key) *o.key = o.op_id;

  const T* q = o.qkv + head.packed;
  auto queries = rows_of(e, q, e.packed_width, query_block, e.scale);
  PlainSoftmax softmax;
  ResultRows<D> sum;
  int key_blocks = e.causal ? query_block + 1 : e.blocks;
  for (int b = 0; b < key_blocks; ++b) {
    auto keys = rows_of(e, q + e.width, e.packed_width, b);
    auto values = rows_of(e, q + 2 * e.width, e.packed_width, b);
    mask.draw<threads>(e, query_block * block, b * block, shared.keep);
    float scores[team_rows][team_rows] = {};
    add_products<packs>(queries, keys, shared, scores);
#pragma unroll
    for (int r = 0; r < team_rows; ++r)
      softmax.soften(e, shared, query_block, b, r, scores[r], sum);
    share_scores(scores, shared);
    sum.template add<packs>(values, shared);
  }

  float factors[team_rows];
#pragma unroll
  for (int r = 0; r < team_rows; ++r) {
    float total = team_reduce(softmax.total[r], Sum{});
    factors[r] = 1 / total;
    int row = team_rows * team() + r;
    if (member() == 0 && row < queries.rows)
      o.logsumexp[head.row + query_block * block + row] = softmax.most[r] + logf(total);
  }
  sum.template store<packs>(rows_of(e, o.y + head.plain, e.width, query_block), factors);
}

template <typename T, int D, bool packs>
class AttentionPlainCudaKernel : public Kernel {
 public:
  AttentionPlainCudaKernel(const AttentionExtents& extents, int32_t op_id)
      : e_(extents), op_id_(op_id) {}

  void run(const KernelArgs& args) override {
    PlainForwardOperands<T> operands{
        static_cast<const T*>(args.inputs[0]),
        args.step,
        static_cast<T*>(args.outputs[0]),
        static_cast<float*>(args.outputs[1]),
        e_.dropout > 0 ? static_cast<int32_t*>(args.outputs[2]) : nullptr,
        op_id_};
    launch(attention_plain_kernel<D, packs, T>, e_.all_blocks(), threads, args.stream, e_,
           operands);
  }

 private:
  AttentionExtents e_;
  int32_t op_id_;
};

std::unique_ptr<Kernel> make_plain(const Op& op, const AttentionAttributes& attributes,
                                   const KernelRequest& request) {
  AttentionExtents e(op, attributes, request.inputs[0].shape);
  return with_kernel(request.inputs[0].dtype, e.size,
                     [&](auto type, auto columns, auto packs) -> std::unique_ptr<Kernel> {
                       using K =
                           AttentionPlainCudaKernel<decltype(type), columns.value, packs.value>;
                       return std::make_unique<K>(e, request.op_id);
                     });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const AttentionOp& op, const KernelRequest& request) {
  const AttentionAttributes& attributes = op.attributes();
  AttentionShape shape = shape_of(AttentionPass::forward, attributes, request.inputs[0]);
  auto mma = [&] { return make_attention_mma(op, attributes, request); };
  auto plain = [&] { return make_plain(op, attributes, request); };
  return choose_attention(shape, own_attention(shape, mma, plain), request);
}

}  // namespace spire::inline kernels
