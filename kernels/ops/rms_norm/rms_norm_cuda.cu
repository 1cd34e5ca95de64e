// RMS normalization on a GPU. A warp takes a row: its first pass reads it from memory, the second
// finds it in the first-level cache. dgamma is summed over chunks of rows, then over the chunks, on
// a ChannelGrid. No atomics, so each sum has one order. All in fp32.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/channel_grid.h"
#include "kernels/cuda/warp_rows.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <int N, typename T>
__global__ void __launch_bounds__(row_threads)
    rms_norm_kernel(int64_t rows, int64_t width, const T* x, const float* gamma, float epsilon,
                    T* y, float* rstd_out) {
  int64_t row = row_of_warp();
  if (row >= rows) return;
  x += row * width;
  y += row * width;
  float squares = 0;
  over_columns<N>(width, [&](int64_t c) {
    auto pack = load_pack<N>(x + c);
    for (int i = 0; i < N; ++i) {
      auto value = static_cast<float>(pack.at[i]);
      squares += value * value;
    }
  });
  squares = warp_reduce(squares, Sum{});
  float rstd = 1.0f / sqrtf(squares / static_cast<float>(width) + epsilon);
  over_columns<N>(width, [&](int64_t c) {
    auto pack = load_pack<N>(x + c);
    auto gain = load_pack<N>(gamma + c);
    for (int i = 0; i < N; ++i)
      pack.at[i] = T(gain.at[i] * (static_cast<float>(pack.at[i]) * rstd));
    store_pack(pack, y + c);
  });
  if (threadIdx.x % warp_threads == 0) rstd_out[row] = rstd;
}

// Sums dy xhat over each chunk of rows. Launched before dx is written, as dx may be dy or x.
template <int N, typename T>
__global__ void __launch_bounds__(channel_threads)
    rms_norm_chunk_sums_kernel(ChannelGrid g, const T* dy, const T* x, const float* rstd,
                               float* partial) {
  ChannelSlice slice = channel_slice(g);
  float sums[1][N] = {};
  in_batches<4>(slice.first, slice.end, g.step, [&](int64_t first, auto rows) {
    Pack<T, N> own[rows()], value[rows()];
    float r[rows()];
    for (int k = 0; k < rows(); ++k) {
      int64_t row = first + k * g.step, at = row * g.channels + slice.channel;
      own[k] = load_pack<N>(dy + at);
      value[k] = load_pack<N>(x + at);
      r[k] = rstd[row];
    }
    for (int k = 0; k < rows(); ++k)
      for (int i = 0; i < N; ++i)
        sums[0][i] +=
            static_cast<float>(own[k].at[i]) * (static_cast<float>(value[k].at[i]) * r[k]);
  });
  add_block_rows(g, slice.row, sums);
  store_partial(g, slice, sums, partial);
}

// dx may be dy or x: a lane writes only elements that it alone reads, after the last read.
template <int N, typename T>
__global__ void __launch_bounds__(row_threads)
    rms_norm_backward_kernel(int64_t rows, int64_t width, const T* dy, const T* x,
                             const float* gamma, const float* rstd, T* dx) {
  int64_t row = row_of_warp();
  if (row >= rows) return;
  dy += row * width;
  x += row * width;
  dx += row * width;
  float r = rstd[row], products = 0;
  auto gained = [](const auto& own, const auto& gain, int i) {
    return static_cast<float>(own.at[i]) * gain.at[i];
  };
  over_columns<N>(width, [&](int64_t c) {
    auto own = load_pack<N>(dy + c), value = load_pack<N>(x + c);
    auto gain = load_pack<N>(gamma + c);
    for (int i = 0; i < N; ++i)
      products += gained(own, gain, i) * (static_cast<float>(value.at[i]) * r);
  });
  float mean = warp_reduce(products, Sum{}) / static_cast<float>(width);
  over_columns<N>(width, [&](int64_t c) {
    auto own = load_pack<N>(dy + c), value = load_pack<N>(x + c);
    auto gain = load_pack<N>(gamma + c);
    for (int i = 0; i < N; ++i) {
      float xhat = static_cast<float>(value.at[i]) * r;
      value.at[i] = T(r * (gained(own, gain, i) - xhat * mean));
    }
    store_pack(value, dx + c);
  });
}

template <typename T>
class RmsNormCudaKernel : public Kernel {
 public:
  RmsNormCudaKernel(float epsilon, const KernelRequest& request)
      : epsilon_(epsilon),
        width_(request.inputs[0].shape.back()),
        rows_(request.inputs[0].shape.elements() / width_) {}

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    launch(rows_take_packs<N>(width_) ? rms_norm_kernel<N, T> : rms_norm_kernel<1, T>,
           blocks_for(rows_, rows_per_block), row_threads, args.stream, rows_, width_,
           static_cast<const T*>(args.inputs[0]), static_cast<const float*>(args.inputs[1]),
           epsilon_, static_cast<T*>(args.outputs[0]), static_cast<float*>(args.outputs[1]));
  }

 private:
  float epsilon_;
  int64_t width_, rows_;
};

template <typename T>
class RmsNormBackwardCudaKernel : public Kernel {
 public:
  explicit RmsNormBackwardCudaKernel(const KernelRequest& request)
      : grid_(channel_grid(request.inputs[1].shape, 4, 1024)) {}

  // A chunk's sums of dy xhat: (C, chunks) fp32.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(grid_.channels * grid_.chunks) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    auto dy = static_cast<const T*>(args.inputs[0]), x = static_cast<const T*>(args.inputs[1]);
    auto rstd = static_cast<const float*>(args.inputs[3]);
    auto partial = static_cast<float*>(args.workspace);
    launch(grid_.width == channel_width ? rms_norm_chunk_sums_kernel<channel_width, T>
                                        : rms_norm_chunk_sums_kernel<1, T>,
           grid_.blocks(), channel_threads, args.stream, grid_, dy, x, rstd, partial);
    launch(rows_take_packs<N>(grid_.channels) ? rms_norm_backward_kernel<N, T>
                                              : rms_norm_backward_kernel<1, T>,
           blocks_for(grid_.rows, rows_per_block), row_threads, args.stream, grid_.rows,
           grid_.channels, dy, x, static_cast<const float*>(args.inputs[2]), rstd,
           static_cast<T*>(args.outputs[0]));
    add_chunks<1>(grid_, args.stream, static_cast<const float*>(partial),
                  StoreSum<float>{static_cast<float*>(args.outputs[1])});
  }

 private:
  ChannelGrid grid_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const RmsNormOp& op, const KernelRequest& request) {
  float epsilon = op.attributes().epsilon;
  return make_typed_cuda<RmsNormCudaKernel>(request.inputs[0].dtype, epsilon, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const RmsNormBackwardOp&, const KernelRequest& request) {
  return make_typed_cuda<RmsNormBackwardCudaKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
