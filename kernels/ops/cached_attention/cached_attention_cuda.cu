// Attention with a cache on a GPU. The cache has each head's keys, then its values, (window, D) of
// the tensors' dtype. One kernel writes the new rows to the cache; then a block of threads takes a
// head of a row. Its warps share the positions, each with an online softmax, in fp32.
#include <cmath>
#include <limits>

#include "engine/device/cuda_kernel.h"
#include "kernels/elementary.h"
#include "kernels/kernel.h"
#include "kernels/ops/cached_attention/cached_attention.h"

namespace spire {
namespace {

constexpr int cached_attention_threads = 128,
              cached_attention_warps = cached_attention_threads / warp_threads;
constexpr int max_columns = 256;  // of a head

struct CacheExtents {
  int64_t window;
  int batch, rows, heads, groups, size;

  SPIRE_HOST_DEVICE int row_width() const { return (heads + 2 * groups) * size; }
  SPIRE_HOST_DEVICE int64_t head_elements() const { return 2 * window * size; }
  SPIRE_HOST_DEVICE bool holds(int position) const { return position >= 0 && position < window; }
};

// A block takes a row; each thread copies columns of its keys and values.
template <typename T>
__global__ void __launch_bounds__(cached_attention_threads)
    cache_rows_kernel(CacheExtents e, const T* qkv, const int32_t* positions, T* cache) {
  int row = static_cast<int>(blockIdx.x), position = positions[row];
  if (!e.holds(position)) return;
  const T* k = qkv + int64_t{row} * e.row_width() + e.heads * e.size;
  const T* v = k + e.groups * e.size;
  for (int c = static_cast<int>(threadIdx.x); c < e.groups * e.size;
       c += cached_attention_threads) {
    int group = c / e.size;
    int64_t head = (int64_t{row / e.rows} * e.groups + group) * e.head_elements();
    T* key = cache + head + int64_t{position} * e.size + (c - group * e.size);
    key[0] = k[c];
    key[e.window * e.size] = v[c];
  }
}

// columns: of a head that a thread has, every 32nd.
template <int columns, typename T>
__global__ void __launch_bounds__(cached_attention_threads)
    cached_attention_kernel(CacheExtents e, float scale, const T* qkv, const int32_t* positions,
                            const T* cache, T* y) {
  __shared__ float sums[cached_attention_warps][max_columns];
  __shared__ float mosts[cached_attention_warps], totals[cached_attention_warps];
  int row = static_cast<int>(blockIdx.x) / e.heads, head = static_cast<int>(blockIdx.x) % e.heads;
  int lane = static_cast<int>(threadIdx.x) % warp_threads;
  int warp = static_cast<int>(threadIdx.x) / warp_threads;
  int position = positions[row];
  int keys = e.holds(position) ? position + 1 : 0;
  const T* q = qkv + int64_t{row} * e.row_width() + head * e.size;
  int group = head / (e.heads / e.groups);
  const T* k = cache + (int64_t{row / e.rows} * e.groups + group) * e.head_elements();
  const T* v = k + e.window * e.size;

  float query[columns], sum[columns];
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    int c = lane + warp_threads * i;
    query[i] = c < e.size ? scale * static_cast<float>(q[c]) : 0.0f;
    sum[i] = 0;
  }
  float most = -std::numeric_limits<float>::infinity(), total = 0;
  for (int j = warp; j < keys; j += cached_attention_warps) {
    float score = 0;
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      int c = lane + warp_threads * i;
      if (c < e.size) score += query[i] * static_cast<float>(k[int64_t{j} * e.size + c]);
    }
    score = warp_reduce(score, Sum{});
    float largest = score > most ? score : most;
    float kept = exponential(most - largest), p = exponential(score - largest);
    most = largest;
    total = total * kept + p;
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      int c = lane + warp_threads * i;
      float value = c < e.size ? static_cast<float>(v[int64_t{j} * e.size + c]) : 0.0f;
      sum[i] = sum[i] * kept + p * value;
    }
  }
  if (lane == 0) mosts[warp] = most, totals[warp] = total;
#pragma unroll
  for (int i = 0; i < columns; ++i) sums[warp][lane + warp_threads * i] = sum[i];
  __syncthreads();

  most = mosts[0];
  for (int w = 1; w < cached_attention_warps; ++w) most = mosts[w] > most ? mosts[w] : most;
  total = 0;
  for (int w = 0; w < cached_attention_warps; ++w)
    total += exponential(mosts[w] - most) * totals[w];
  for (int c = static_cast<int>(threadIdx.x); c < e.size; c += cached_attention_threads) {
    float result = 0;
    for (int w = 0; w < cached_attention_warps; ++w)
      result += exponential(mosts[w] - most) * sums[w][c];
    y[(int64_t{row} * e.heads + head) * e.size + c] = T(keys > 0 ? result / total : 0.0f);
  }
}

// A block of threads takes a row of a head, whose size is at most `columns` times 32.
template <int columns, typename T>
void attend(const CacheExtents& e, const T* cache, const KernelArgs& args) {
  auto blocks = static_cast<unsigned>(e.batch * e.rows * e.heads);
  launch(cached_attention_kernel<columns, T>, blocks, cached_attention_threads, args.stream, e,
         1 / std::sqrt(static_cast<float>(e.size)), args.in<T>(0), args.in<int32_t>(1), cache,
         args.out<T>(0));
}

}  // namespace

template <>
Kernel make_cuda(const CachedAttentionOp& op, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&]<typename T>(T) -> Kernel {
    const CachedAttentionAttributes& a = op.attributes();
    const Shape& qkv = request.inputs[0].shape;
    CacheExtents e{a.window,
                   static_cast<int>(qkv[0]),
                   static_cast<int>(qkv[1]),
                   static_cast<int>(a.heads),
                   static_cast<int>(a.kv_heads),
                   static_cast<int>(qkv[2] / (a.heads + 2 * a.kv_heads))};
    if (e.size > max_columns) refuse_cached_heads(e.size, max_columns);
    a.cache->reserve(a.layer,
                     static_cast<size_t>(e.batch * e.groups * e.head_elements()) * sizeof(T));
    return [e, &cache = *a.cache, layer = a.layer](const KernelArgs& args) {
      T* of_layer = cache.layer<T>(layer);
      launch(cache_rows_kernel<T>, static_cast<unsigned>(e.batch * e.rows),
             cached_attention_threads, args.stream, e, args.in<T>(0), args.in<int32_t>(1),
             of_layer);
      auto attend_all = e.size <= 32    ? attend<1, T>
                        : e.size <= 64  ? attend<2, T>
                        : e.size <= 128 ? attend<4, T>
                                        : attend<8, T>;
      attend_all(e, of_layer, args);
    };
  });
}

}  // namespace spire
