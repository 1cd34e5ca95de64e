// dk and dv, a block of keys going through the queries that see it; then dq, a block of queries
// going through its keys. Both make the scores again, on tensor cores; no atomics, so each sum has
// one order. p, keep p and ds are rounded to 16 bits as operands, and nothing else before results.
#include "engine/device/cuda_launch.h"
#include "kernels/ops/attention/attention_delta_cuda.h"
#include "kernels/ops/attention/attention_mma.h"
#include "kernels/ops/attention/attention_mma_cuda.h"

namespace spire::inline kernels {

namespace {

using namespace attention_mma;

// What p and ds of a query's scores follow from.
struct QueryNumbers {
  float logsumexp, delta;
};

template <typename T>
struct MmaBackwardOperands {
  const T *dy, *qkv;
  const float *logsumexp, *delta;  // (N, H, T)
  const int32_t* key;              // with dropout
  const StepContext* step;
  T* dqkv;

  __device__ ScoreDropout mask(const AttentionHead& head) const {
    return {step, key ? *key : 0, head.sample, head.head};
  }
  // Zeros behind the last.
  __device__ QueryNumbers numbers(const AttentionExtents& e, const AttentionHead& head,
                                  int query) const {
    if (query >= e.length) return {0, 0};
    return {logsumexp[head.row + query], delta[head.row + query]};
  }
};

// RowView of a tile: as many as the results leave registers for.
template <int D>
constexpr int tile_queries = D > 64 ? 16 : 32;
constexpr int tile_keys = 32;

// The product q . k becomes p, and keep dy . v becomes ds, scaled before it is rounded to 16 bits:
// fp16 ends at 65504.
__device__ inline void differentiate(const AttentionExtents& e, const QueryNumbers& query,
                                     float& score, float& product) {
  score = exp2f((score * e.scale - query.logsumexp) * log2_e);
  product = score * (product - query.delta) * e.scale;
}

// RowView are keys, columns queries.
template <int D, typename T>
__global__ void __launch_bounds__(threads, 2)
    attention_mma_keys_kernel(AttentionExtents e, MmaBackwardOperands<T> o) {
  constexpr int rows = tile_queries<D>;
  __shared__ MmaTile<block, D> keys, values;
  __shared__ MmaTile<rows, D> queries, dys;
  __shared__ KeepBits<rows, block> keep;
  __shared__ QueryNumbers numbers[rows];

  // When causal, the longest first.
  int first_key = static_cast<int>(blockIdx.x % e.blocks) * block;
  AttentionHead head(e, blockIdx.x / e.blocks);
  ScoreDropout mask = o.mask(head);
  const T *q = o.qkv + head.packed, *k = q + e.width, *v = k + e.width;
  keys.load(rows_from(e, k, e.packed_width, first_key, block));
  values.load(rows_from(e, v, e.packed_width, first_key, block));
  MmaSums<D> dk, dv;
  for (int first = e.causal ? first_key : 0; first < e.length; first += rows) {
    __syncthreads();  // whoever still reads the tiles before
    queries.load(rows_from(e, q, e.packed_width, first, rows));
    dys.load(rows_from(e, o.dy + head.plain, e.width, first, rows));
    if (threadIdx.x < rows) numbers[threadIdx.x] = o.numbers(e, head, first + threadIdx.x);
    mask.draw<threads>(e, first, first_key, keep);
    __syncthreads();
    MmaSums<rows> p, ds;
    p.template add_products<T>(keys, queries);
    ds.template add_products<T>(values, dys);
    if (needs_mask(e, first, first_key, block))
      each_sum<rows>([&](int n, int i, int row, int column) {
        if (!sees(e, first + column, first_key + row)) p.at[n][i] = masked;
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
  T *to_k = o.dqkv + head.packed + e.width, *to_v = to_k + e.width;
  dk.store(rows_from(e, to_k, e.packed_width, first_key, block));
  dv.store(rows_from(e, to_v, e.packed_width, first_key, block));
}

// RowView are queries, columns keys.
template <int D, typename T>
__global__ void __launch_bounds__(threads, D > 64 ? 2 : 3)
    attention_mma_queries_kernel(AttentionExtents e, MmaBackwardOperands<T> o) {
  __shared__ MmaTile<tile_keys, D> keys, values;
  __shared__ KeepBits<block, tile_keys> keep;

  // When causal, the longest first.
  int first_query = (e.blocks - 1 - static_cast<int>(blockIdx.x % e.blocks)) * block;
  AttentionHead head(e, blockIdx.x / e.blocks);
  ScoreDropout mask = o.mask(head);
  const T *q = o.qkv + head.packed, *k = q + e.width, *v = k + e.width;
  LeftRows<D> queries(rows_from(e, q, e.packed_width, first_query, block));
  LeftRows<D> dys(rows_from(e, o.dy + head.plain, e.width, first_query, block));
  int query = first_query + first_row() + group();
  QueryNumbers numbers[2] = {o.numbers(e, head, query), o.numbers(e, head, query + 8)};
  MmaSums<D> dq;
  for (int first = 0; first < keys_of(e, first_query); first += tile_keys) {
    __syncthreads();  // whoever still reads the tiles before
    keys.load(rows_from(e, k, e.packed_width, first, tile_keys));
    values.load(rows_from(e, v, e.packed_width, first, tile_keys));
    mask.draw<threads>(e, first_query, first, keep);
    __syncthreads();
    MmaSums<tile_keys> p, ds;
    p.template add_products<T>(queries, keys);
    ds.template add_products<T>(dys, values);
    if (needs_mask(e, first_query, first, tile_keys))
      each_sum<tile_keys>([&](int n, int i, int row, int column) {
        if (!sees(e, first_query + row, first + column)) p.at[n][i] = masked;
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

template <typename T, int D>
class AttentionMmaBackwardCudaKernel : public Kernel {
 public:
  explicit AttentionMmaBackwardCudaKernel(const AttentionExtents& extents) : e_(extents) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(e_.batch * e_.heads * e_.length) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    auto delta = static_cast<float*>(args.workspace);
    attention_cuda::launch_delta(e_, dtype_of<T>::value, args.inputs[0], args.inputs[2], delta,
                                 args.stream);
    MmaBackwardOperands<T> operands{
        static_cast<const T*>(args.inputs[0]),
        static_cast<const T*>(args.inputs[1]),
        static_cast<const float*>(args.inputs[3]),
        delta,
        e_.dropout > 0 ? static_cast<const int32_t*>(args.inputs[4]) : nullptr,
        args.step,
        static_cast<T*>(args.outputs[0])};
    launch(attention_mma_keys_kernel<D, T>, e_.all_blocks(), threads, args.stream, e_, operands);
    launch(attention_mma_queries_kernel<D, T>, e_.all_blocks(), threads, args.stream, e_, operands);
  }

 private:
  AttentionExtents e_;
};

}  // namespace

std::unique_ptr<Kernel> make_attention_backward_mma(const Op& op,
                                                    const AttentionAttributes& attributes,
                                                    const KernelRequest& request) {
  const TensorSpec& qkv = request.inputs[1];
  AttentionExtents e(op, attributes, qkv.shape);
  return with_mma_kernel(qkv.dtype, e.size, [&](auto type, auto columns) {
    using T = decltype(type);
    return std::unique_ptr<Kernel>(
        std::make_unique<AttentionMmaBackwardCudaKernel<T, columns.value>>(e));
  });
}

}  // namespace spire::inline kernels
