// Layer normalization on a GPU. A warp takes a row: its first pass reads it from memory, later
// passes find it in the first-level cache. dgamma and dbeta are summed over chunks of rows, then
// over the chunks, on a ChannelGrid. No atomics, so each sum has one order. All in fp32.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/channel_grid.h"
#include "kernels/cuda/warp_rows.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct LayerNormExtents {
  int64_t rows, width;
};

LayerNormExtents layer_norm_extents(const Shape& shape) {
  return {shape.elements() / shape.back(), shape.back()};
}

// Sum of term(value) over a row, by a warp.
template <int N, typename T, typename Term>
__device__ float sum_row(const T* x, int64_t width, Term term) {
  float sum = 0;
  over_columns<N>(width, [&](int64_t c) {
    auto pack = load_pack<N>(x + c);
    for (int i = 0; i < N; ++i) sum += term(static_cast<float>(pack.at[i]));
  });
  return warp_reduce(sum, Sum{});
}

template <int N, typename T>
__global__ void __launch_bounds__(row_threads)
    layer_norm_kernel(LayerNormExtents e, const T* x, const float* gamma, const float* beta,
                      float epsilon, T* y, float* mean_out, float* rstd_out) {
  int64_t row = row_of_warp();
  if (row >= e.rows) return;
  x += row * e.width;
  y += row * e.width;
  auto n = static_cast<float>(e.width);
  float mean = sum_row<N>(x, e.width, [](float value) { return value; }) / n;
  float squares =
      sum_row<N>(x, e.width, [=](float value) { return (value - mean) * (value - mean); });
  float rstd = 1.0f / sqrtf(squares / n + epsilon);
  over_columns<N>(e.width, [&](int64_t c) {
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

// Sums dy xhat and dy over each chunk of rows. Launched before dx is written, as dx may be dy or x.
template <int N, typename T>
__global__ void __launch_bounds__(channel_threads)
    layer_norm_chunk_sums_kernel(ChannelGrid g, const T* dy, const T* x, const float* mean,
                                 const float* rstd, float* partial) {
  ChannelSlice slice = channel_slice(g);
  float sums[2][N] = {};
  in_batches<4>(slice.first, slice.end, g.step, [&](int64_t first, auto rows) {
    Pack<T, N> own[rows()], value[rows()];
    float m[rows()], r[rows()];
    for (int k = 0; k < rows(); ++k) {
      int64_t row = first + k * g.step, at = row * g.channels + slice.channel;
      own[k] = load_pack<N>(dy + at);
      value[k] = load_pack<N>(x + at);
      m[k] = mean[row];
      r[k] = rstd[row];
    }
    for (int k = 0; k < rows(); ++k)
      for (int i = 0; i < N; ++i) {
        auto gradient = static_cast<float>(own[k].at[i]);
        sums[0][i] += gradient * ((static_cast<float>(value[k].at[i]) - m[k]) * r[k]);
        sums[1][i] += gradient;
      }
  });
  add_block_rows(g, slice.row, sums);
  store_partial(g, slice, sums, partial);
}

struct StoreGradients {
  float *dgamma, *dbeta;
  __device__ void operator()(int64_t c, const float* totals) const {
    dgamma[c] = totals[0];
    dbeta[c] = totals[1];
  }
};

// dx may be dy or x: a lane writes only elements that it alone reads, after the last read.
template <int N, typename T>
__global__ void __launch_bounds__(row_threads)
    layer_norm_backward_kernel(LayerNormExtents e, const T* dy, const T* x, const float* gamma,
                               const float* mean, const float* rstd, T* dx) {
  int64_t row = row_of_warp();
  if (row >= e.rows) return;
  dy += row * e.width;
  x += row * e.width;
  dx += row * e.width;
  auto n = static_cast<float>(e.width);
  float m = mean[row], r = rstd[row];
  float sum_g = 0, sum_gx = 0;  // of g gamma, and of g gamma xhat
  over_columns<N>(e.width, [&](int64_t c) {
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
  over_columns<N>(e.width, [&](int64_t c) {
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

template <typename T>
class LayerNormCudaKernel : public Kernel {
 public:
  LayerNormCudaKernel(float epsilon, const KernelRequest& request)
      : epsilon_(epsilon), e_(layer_norm_extents(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    launch(rows_take_packs<N>(e_.width) ? layer_norm_kernel<N, T> : layer_norm_kernel<1, T>,
           blocks_for(e_.rows, rows_per_block), row_threads, args.stream, e_,
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
      : e_(layer_norm_extents(request.inputs[1].shape)),
        grid_(channel_grid(request.inputs[1].shape, 4, 1024)) {}

  // A chunk's sums of dy xhat and of dy: (2, C, chunks) fp32.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(2 * grid_.channels * grid_.chunks) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    auto dy = static_cast<const T*>(args.inputs[0]), x = static_cast<const T*>(args.inputs[1]);
    auto gamma = static_cast<const float*>(args.inputs[2]);
    auto mean = static_cast<const float*>(args.inputs[3]);
    auto rstd = static_cast<const float*>(args.inputs[4]);
    auto partial = static_cast<float*>(args.workspace);
    launch(grid_.width == channel_width ? layer_norm_chunk_sums_kernel<channel_width, T>
                                        : layer_norm_chunk_sums_kernel<1, T>,
           grid_.blocks(), channel_threads, args.stream, grid_, dy, x, mean, rstd, partial);
    launch(rows_take_packs<N>(e_.width) ? layer_norm_backward_kernel<N, T>
                                        : layer_norm_backward_kernel<1, T>,
           blocks_for(e_.rows, rows_per_block), row_threads, args.stream, e_, dy, x, gamma, mean,
           rstd, static_cast<T*>(args.outputs[0]));
    add_chunks<2>(
        grid_, args.stream, static_cast<const float*>(partial),
        StoreGradients{static_cast<float*>(args.outputs[1]), static_cast<float*>(args.outputs[2])});
  }

 private:
  LayerNormExtents e_;
  ChannelGrid grid_;
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
