// Attention forward on plain cores, in fp32. A block of threads takes 64 queries and goes through
// the keys they see, 64 at a time, with an online softmax. Scores, sums and the softmax state stay
// in registers; tiles of q, k and v pass through shared memory.
#include <limits>

#include "engine/device/cuda_kernel.h"
#include "kernels/elementary.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention_makers.h"
#include "kernels/ops/attention/attention_plain_cuda.h"

namespace spire {

namespace {

using namespace attention_cuda;

// Online softmax of a thread's rows: the largest score so far, and the thread's share of the sum.
struct PlainSoftmax {
  float most[team_rows], total[team_rows] = {};

  __device__ PlainSoftmax() {
    for (float& value : most) value = -std::numeric_limits<float>::infinity();
  }

  // Turns a row of scores into keep e^(score - most), and rescales what was summed with an earlier
  // largest.
  template <int D>
  __device__ void soften(const AttentionExtents& e, const DocumentStarts& starts,
                         const AttentionShared& shared, int query_block, int key_block, int r,
                         float (&scores)[team_rows], ResultRows<D>& sum) {
    int query = team_rows * team() + r;
    bool seen[team_rows];
    float largest = most[r];
    int start = starts.of(query_block * block + query);
    for (int j = 0; j < team_rows; ++j) {
      // Rows behind the last query copy it, so that they have a score; nobody stores their result.
      int last = e.length - 1, at = query_block * block + query;
      int key = key_block * block + member() + members * j;
      seen[j] = e.sees(at < last ? at : last, key) && key >= start;
      if (seen[j] && scores[j] > largest) largest = scores[j];
    }
    largest = team_reduce(largest, Maximum{});
    // No difference of infinities: a query may see none of the keys so far, but those of others'
    // documents. Its sums are 0 then.
    bool none = largest == -std::numeric_limits<float>::infinity();
    float factor = none ? 1.0f : exponential(most[r] - largest);
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
    attention_plain_kernel(AttentionExtents e, ForwardOperands<T> o) {
  __shared__ AttentionShared shared;
  // Longest first: when causal, the last blocks of queries see the most keys.
  auto index = static_cast<int>(blockIdx.x % e.blocks);
  int query_block = e.blocks - 1 - index;
  AttentionHead head(e, blockIdx.x / e.blocks);
  ScoreDropout mask{o.step, o.op_id, head.sample, head.head};
  if (blockIdx.x == 0 && threadIdx.x == 0 && o.key) *o.key = o.op_id;

  const T* q = o.qkv + head.packed;
  auto queries = rows_of(e, q, e.packed_width, query_block, e.scale);
  PlainSoftmax softmax;
  ResultRows<D> sum;
  DocumentStarts starts(e, o.positions, head.sample);
  int key_blocks = e.causal ? query_block + 1 : e.blocks;
  for (int b = starts.of(query_block * block) / block; b < key_blocks; ++b) {
    auto keys = rows_of(e, q + head.to_keys, e.packed_width, b);
    auto values = rows_of(e, q + head.to_keys + e.kv_width, e.packed_width, b);
    mask.draw<threads>(e, query_block * block, b * block, shared.keep);
    float scores[team_rows][team_rows] = {};
    add_products<packs>(queries, keys, shared, scores);
#pragma unroll
    for (int r = 0; r < team_rows; ++r)
      softmax.soften(e, starts, shared, query_block, b, r, scores[r], sum);
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

}  // namespace

Kernel attention_cuda::make_plain(const AttentionOp& op, const KernelRequest& request) {
  const TensorSpec& qkv = request.inputs[0];
  AttentionExtents e(op, op.attributes(), qkv.shape);
  return with_any_float_type(qkv.dtype, [&]<typename T>(T) {
    return with_plain_size<T>(e.size, [&](auto columns, auto packs) {
      return attention_forward<T>(attention_plain_kernel<columns.value, packs.value, T>, threads, e,
                                  op.attributes().documents, request.op_id);
    });
  });
}

}  // namespace spire
