// A block of queries goes through its keys, with a softmax that follows, on tensor cores. keep p is
// rounded to 16 bits as an operand; p is added up in fp32.
#include "engine/device/cuda_launch.h"
#include "kernels/autotune/native_kernel.h"
#include "kernels/ops/attention/attention_mma.h"
#include "kernels/ops/attention/attention_mma_cuda.h"
#include "kernels/ops/attention/attention_rules.h"

namespace spire::inline kernels {

namespace {

using namespace attention_mma;

template <typename T>
struct MmaForwardOperands {
  const T* qkv;
  const StepContext* step;
  T* y;
  float* logsumexp;
  int32_t* key;  // with dropout
  int32_t op_id;
};

constexpr int tile_keys = 64;

// Of the four lanes that have a row, to all of them.
template <typename Combine>
__device__ float row_reduce(float value, Combine combine) {
  for (int step = 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(full_warp, value, step));
  return value;
}

// The softmax so far of the lane's two rows: the largest product q . k, and the lane's share of the
// sum of e^((product - largest) / sqrt(D)).
struct MmaSoftmax {
  float most[2] = {masked, masked}, total[2] = {};

  // Products become p about the largest so far. What was summed about an earlier one is scaled.
  template <int D>
  __device__ void soften(const AttentionExtents& e, MmaSums<tile_keys>& scores, MmaSums<D>& sums) {
    float largest[2] = {most[0], most[1]};
    each_sum<tile_keys>([&](int n, int i, int, int) {
      if (scores.at[n][i] > largest[i / 2]) largest[i / 2] = scores.at[n][i];
    });
    float factor[2], unit = e.scale * log2_e;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      largest[half] = row_reduce(largest[half], Maximum{});
      factor[half] = exp2f((most[half] - largest[half]) * unit);
      most[half] = largest[half];
      total[half] *= factor[half];
    }
    each_sum<D>([&](int n, int i, int, int) { sums.at[n][i] *= factor[i / 2]; });
    each_sum<tile_keys>([&](int n, int i, int, int) {
      float p = exp2f((scores.at[n][i] - largest[i / 2]) * unit);
      total[i / 2] += p;
      scores.at[n][i] = p;
    });
  }
};

template <int D, typename T>
__global__ void __launch_bounds__(threads, 2)
    attention_mma_kernel(AttentionExtents e, MmaForwardOperands<T> o) {
  __shared__ MmaTile<tile_keys, D> keys, values;
  __shared__ KeepBits<block, tile_keys> keep;

  // When causal, the longest first.
  int first_query = (e.blocks - 1 - static_cast<int>(blockIdx.x % e.blocks)) * block;
  AttentionHead head(e, blockIdx.x / e.blocks);
  ScoreDropout mask{o.step, o.op_id, head.sample, head.head};
  if (blockIdx.x == 0 && threadIdx.x == 0 && o.key) *o.key = o.op_id;
  const T *q = o.qkv + head.packed, *k = q + e.width, *v = k + e.width;
  LeftRows<D> queries(rows_from(e, q, e.packed_width, first_query, block));
  MmaSoftmax softmax;
  MmaSums<D> sums;
  for (int first = 0; first < keys_of(e, first_query); first += tile_keys) {
    __syncthreads();  // whoever still reads the tiles before
    keys.load(rows_from(e, k, e.packed_width, first, tile_keys));
    values.load(rows_from(e, v, e.packed_width, first, tile_keys));
    mask.draw<threads>(e, first_query, first, keep);
    __syncthreads();
    MmaSums<tile_keys> scores;
    scores.template add_products<T>(queries, keys);
    if (needs_mask(e, first_query, first, tile_keys))
      each_sum<tile_keys>([&](int n, int i, int row, int column) {
        if (!sees(e, first_query + row, first + column)) scores.at[n][i] = masked;
      });
    softmax.soften(e, scores, sums);
    if (e.dropout > 0)
      each_sum<tile_keys>([&](int n, int i, int row, int column) {
        scores.at[n][i] *= keep.of(row, column) ? e.keep : 0.0f;
      });
    sums.template add_weighted<T>(scores, values);
  }

  float factors[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float total = row_reduce(softmax.total[half], Sum{});
    factors[half] = 1 / total;
    int query = first_query + first_row() + group() + 8 * half;
    if (pair() == 0 && query < e.length)
      o.logsumexp[head.row + query] = softmax.most[half] * e.scale + logf(total);
  }
  sums.store(rows_from(e, o.y + head.plain, e.width, first_query, block), factors);
}

template <typename T, int D>
class AttentionMmaCudaKernel : public Kernel {
 public:
  AttentionMmaCudaKernel(const AttentionExtents& extents, int32_t op_id)
      : e_(extents), op_id_(op_id) {}

  void run(const KernelArgs& args) override {
    MmaForwardOperands<T> operands{
        static_cast<const T*>(args.inputs[0]),
        args.step,
        static_cast<T*>(args.outputs[0]),
        static_cast<float*>(args.outputs[1]),
        e_.dropout > 0 ? static_cast<int32_t*>(args.outputs[2]) : nullptr,
        op_id_};
    launch(attention_mma_kernel<D, T>, e_.all_blocks(), threads, args.stream, e_, operands);
  }

 private:
  AttentionExtents e_;
  int32_t op_id_;
};

}  // namespace

NativeAttention own_attention(const AttentionShape& shape, const MakeKernel& mma,
                              const MakeKernel& plain) {
  if (on_tensor_cores(shape, compiled_for(attention_mma_kernel<64, bfloat16>)))
    return {native_mma_name, mma};
  return {native_name, plain};
}

std::unique_ptr<Kernel> make_attention_mma(const Op& op, const AttentionAttributes& attributes,
                                           const KernelRequest& request) {
  const TensorSpec& qkv = request.inputs[0];
  AttentionExtents e(op, attributes, qkv.shape);
  return with_mma_kernel(qkv.dtype, e.size, [&](auto type, auto columns) {
    using T = decltype(type);
    return std::unique_ptr<Kernel>(
        std::make_unique<AttentionMmaCudaKernel<T, columns.value>>(e, request.op_id));
  });
}

}  // namespace spire::inline kernels
