// A warp takes a row: its first pass reads it from memory, the others find it in the first-level
// cache. Backward: three kernels. A block sums dgamma and dbeta over a chunk of rows, a warp makes
// a row of dx, and the chunks' sums are added up in their order.
#include "engine/device/cuda_block.h"
#include "engine/device/cuda_launch.h"
#include "engine/device/cuda_pack.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

constexpr int threads = 256;
constexpr int rows_per_block = threads / warp_threads;

struct LayerNormExtents {
  int64_t rows, width;
};

LayerNormExtents extents_of(const Shape& shape) {
  return {shape.elements() / shape.back(), shape.back()};
}

// visit(column) for every N-th column that is this lane's.
template <int N, typename Visit>
__device__ void over_row(int64_t width, Visit visit) {
  for (int64_t c = threadIdx.x % warp_threads * N; c < width; c += warp_threads * N) visit(c);
}

// Sum of term(value) over a row, by a warp.
template <int N, typename T, typename Term>
__device__ float sum_row(const T* x, int64_t width, Term term) {
  float sum = 0;
  over_row<N>(width, [&](int64_t c) {
    auto pack = load_pack<N>(x + c);
    for (int i = 0; i < N; ++i) sum += term(static_cast<float>(pack.at[i]));
  });
  return warp_reduce(sum, Sum{});
}

template <int N, typename T>
__global__ void __launch_bounds__(threads)
    layer_norm_kernel(LayerNormExtents e, const T* x, const float* gamma, const float* beta,
                      float epsilon, T* y, float* mean_out, float* rstd_out) {
  int64_t row = int64_t{blockIdx.x} * rows_per_block + threadIdx.x / warp_threads;
  if (row >= e.rows) return;
  x += row * e.width;
  y += row * e.width;
  auto n = static_cast<float>(e.width);
  float mean = sum_row<N>(x, e.width, [](float value) { return value; }) / n;
  float squares =
      sum_row<N>(x, e.width, [=](float value) { return (value - mean) * (value - mean); });
  float rstd = 1.0f / sqrtf(squares / n + epsilon);
  over_row<N>(e.width, [&](int64_t c) {
    auto pack = load_pack<N>(x + c);
    auto scale = load_pack<N>(gamma + c), shift = load_pack<N>(beta + c);
    for (int i = 0; i < N; ++i) {
      float xhat = (static_cast<float>(pack.at[i]) - mean) * rstd;
      pack.at[i] = T(scale.at[i] * xhat + shift.at[i]);
    }
    store_pack(pack, y + c);
  });
  if (threadIdx.x % warp_threads != 0) return;
  mean_out[row] = mean;
  rstd_out[row] = rstd;
}

// Rows [first, end) of a chunk, and where its sums go: (2, C), dgamma before dbeta.
struct RowChunk {
  int64_t first, end;
  float* sums;
};

// Runs before dx is written, which may be dy or x.
template <int N, typename T>
__global__ void __launch_bounds__(threads)
    layer_norm_chunk_sums_kernel(LayerNormExtents e, int64_t chunk_rows, const T* dy, const T* x,
                                 const float* mean, const float* rstd, float* sums) {
  RowChunk chunk{blockIdx.x * chunk_rows, 0, sums + int64_t{blockIdx.x} * 2 * e.width};
  chunk.end = chunk.first + chunk_rows < e.rows ? chunk.first + chunk_rows : e.rows;
  for (int64_t c = int64_t{threadIdx.x} * N; c < e.width; c += threads * N) {
    Pack<float, N> dgamma = {}, dbeta = {};
    for (int64_t row = chunk.first; row < chunk.end; ++row) {
      auto g = load_pack<N>(dy + row * e.width + c);
      auto v = load_pack<N>(x + row * e.width + c);
      float m = mean[row], r = rstd[row];
      for (int i = 0; i < N; ++i) {
        auto gradient = static_cast<float>(g.at[i]);
        dgamma.at[i] += gradient * ((static_cast<float>(v.at[i]) - m) * r);
        dbeta.at[i] += gradient;
      }
    }
    store_pack(dgamma, chunk.sums + c);
    store_pack(dbeta, chunk.sums + e.width + c);
  }
}

// dx may be dy or x: a lane writes what nobody reads any more.
template <int N, typename T>
__global__ void __launch_bounds__(threads)
    layer_norm_backward_kernel(LayerNormExtents e, const T* dy, const T* x, const float* gamma,
                               const float* mean, const float* rstd, T* dx) {
  int64_t row = int64_t{blockIdx.x} * rows_per_block + threadIdx.x / warp_threads;
  if (row >= e.rows) return;
  dy += row * e.width;
  x += row * e.width;
  dx += row * e.width;
  auto n = static_cast<float>(e.width);
  float m = mean[row], r = rstd[row];
  float sum_g = 0, sum_gx = 0;  // of g gamma, and of g gamma xhat
  over_row<N>(e.width, [&](int64_t c) {
    auto g = load_pack<N>(dy + c);
    auto v = load_pack<N>(x + c);
    auto scale = load_pack<N>(gamma + c);
    for (int i = 0; i < N; ++i) {
      float scaled = static_cast<float>(g.at[i]) * scale.at[i];
      sum_g += scaled;
      sum_gx += scaled * ((static_cast<float>(v.at[i]) - m) * r);
    }
  });
  float mean_g = warp_reduce(sum_g, Sum{}) / n, mean_gx = warp_reduce(sum_gx, Sum{}) / n;
  over_row<N>(e.width, [&](int64_t c) {
    auto g = load_pack<N>(dy + c);
    auto v = load_pack<N>(x + c);
    auto scale = load_pack<N>(gamma + c);
    for (int i = 0; i < N; ++i) {
      float xhat = (static_cast<float>(v.at[i]) - m) * r;
      v.at[i] = T(r * (static_cast<float>(g.at[i]) * scale.at[i] - mean_g - xhat * mean_gx));
    }
    store_pack(v, dx + c);
  });
}

// The chunks' sums, in their order.
__global__ void __launch_bounds__(threads)
    layer_norm_add_chunks_kernel(int64_t width, int64_t chunks, const float* sums, float* dgamma,
                                 float* dbeta) {
  int64_t c = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (c >= 2 * width) return;
  float sum = 0;
  for (int64_t k = 0; k < chunks; ++k) sum += sums[k * 2 * width + c];
  (c < width ? dgamma : dbeta - width)[c] = sum;
}

template <typename T>
class LayerNormCudaKernel : public Kernel {
 public:
  LayerNormCudaKernel(float epsilon, const KernelRequest& request)
      : epsilon_(epsilon), e_(extents_of(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    launch(rows_take_packs<N>(e_.width) ? layer_norm_kernel<N, T> : layer_norm_kernel<1, T>,
           blocks_for(e_.rows, rows_per_block), threads, args.stream, e_,
           static_cast<const T*>(args.inputs[0]), static_cast<const float*>(args.inputs[1]),
           static_cast<const float*>(args.inputs[2]), epsilon_, static_cast<T*>(args.outputs[0]),
           static_cast<float*>(args.outputs[1]), static_cast<float*>(args.outputs[2]));
  }

 private:
  float epsilon_;
  LayerNormExtents e_;
};

template <typename T>
class LayerNormBackwardCudaKernel : public Kernel {
 public:
  explicit LayerNormBackwardCudaKernel(const KernelRequest& request)
      : e_(extents_of(request.inputs[1].shape)),
        chunk_rows_(std::max<int64_t>(16, (e_.rows + 511) / 512)),
        chunks_((e_.rows + chunk_rows_ - 1) / chunk_rows_) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(chunks_ * 2 * e_.width) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    bool packs = rows_take_packs<N>(e_.width);
    auto dy = static_cast<const T*>(args.inputs[0]), x = static_cast<const T*>(args.inputs[1]);
    auto gamma = static_cast<const float*>(args.inputs[2]);
    auto mean = static_cast<const float*>(args.inputs[3]);
    auto rstd = static_cast<const float*>(args.inputs[4]);
    auto sums = static_cast<float*>(args.workspace);
    launch(packs ? layer_norm_chunk_sums_kernel<N, T> : layer_norm_chunk_sums_kernel<1, T>,
           static_cast<unsigned>(chunks_), threads, args.stream, e_, chunk_rows_, dy, x, mean, rstd,
           sums);
    launch(packs ? layer_norm_backward_kernel<N, T> : layer_norm_backward_kernel<1, T>,
           blocks_for(e_.rows, rows_per_block), threads, args.stream, e_, dy, x, gamma, mean, rstd,
           static_cast<T*>(args.outputs[0]));
    launch(layer_norm_add_chunks_kernel, blocks_for(2 * e_.width, threads), threads, args.stream,
           e_.width, chunks_, sums, static_cast<float*>(args.outputs[1]),
           static_cast<float*>(args.outputs[2]));
  }

 private:
  LayerNormExtents e_;
  int64_t chunk_rows_, chunks_;  // at most 512 chunks of at least 16 rows
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const LayerNormOp& op, const KernelRequest& request) {
  float epsilon = op.attributes().epsilon;
  return make_typed_cuda<LayerNormCudaKernel>(request.inputs[0].dtype, epsilon, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const LayerNormBackwardOp&, const KernelRequest& request) {
  return make_typed_cuda<LayerNormBackwardCudaKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
