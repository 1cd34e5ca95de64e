// A thread takes a pack of channels of one window; backward, of one pixel, which gathers from the
// windows over it.
#include "kernels/cuda/pixels.h"
#include "kernels/float_type.h"
#include "kernels/kernel.h"
#include "kernels/ops/avg_pool2d/avg_pool2d.h"
#include "kernels/window_axis.h"

namespace spire::inline kernels {

namespace {

struct AvgPoolWindow {
  WindowAxes axes;
  int64_t channels;
  bool count_include_pad;

  // Of the window at (i, j).
  __device__ float count(int64_t i, int64_t j) const {
    return static_cast<float>(count_include_pad
                                  ? axes.h.kernel * axes.w.kernel
                                  : axes.h.pixels(i).size() * axes.w.pixels(j).size());
  }
};

template <int N, typename T>
__global__ void __launch_bounds__(pixel_threads)
    avg_pool2d_kernel(PixelGrid grid, AvgPoolWindow pool, const T* x, T* y) {
  if (!grid.has(pixel_thread())) return;
  Pixel pixel = grid.pixel(pixel_thread());
  const auto [h, w] = pool.axes;
  IndexRange rows = h.pixels(pixel.row), columns = w.pixels(pixel.column);
  x += pixel.sample * h.in * w.in * pool.channels + pixel.channel;
  float sum[N] = {};
  for (int64_t p = rows.begin; p < rows.end; ++p) {
    for (int64_t q = columns.begin; q < columns.end; ++q) {
      auto pack = load_pack<N>(x + (p * w.in + q) * pool.channels);
      for (int k = 0; k < N; ++k) sum[k] += static_cast<float>(pack.at[k]);
    }
  }
  float count = pool.count(pixel.row, pixel.column);
  Pack<T, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = T(sum[k] / count);
  store_pack(result, y + pixel.at);
}

template <int N, typename T>
__global__ void __launch_bounds__(pixel_threads)
    avg_pool2d_backward_kernel(PixelGrid grid, AvgPoolWindow pool, const T* dy, T* dx) {
  if (!grid.has(pixel_thread())) return;
  Pixel pixel = grid.pixel(pixel_thread());
  const auto [h, w] = pool.axes;
  IndexRange rows = h.positions(pixel.row), columns = w.positions(pixel.column);
  dy += pixel.sample * h.out * w.out * pool.channels + pixel.channel;
  float sum[N] = {};
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      float share = 1.0f / pool.count(i, j);
      auto pack = load_pack<N>(dy + (i * w.out + j) * pool.channels);
      for (int k = 0; k < N; ++k) sum[k] += static_cast<float>(pack.at[k]) * share;
    }
  }
  Pack<T, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = T(sum[k]);
  store_pack(result, dx + pixel.at);
}

// grid: the shape that the kernel makes, y or, backward, x.
template <typename T, bool backward>
class AvgPool2dCudaKernel : public Kernel {
 public:
  AvgPool2dCudaKernel(const AvgPoolWindow& pool, const Shape& made) : pool_(pool), made_(made) {}
  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    rows_take_packs<N>(pool_.channels) ? pool<N>(args) : pool<1>(args);
  }

 private:
  template <int N>
  void pool(const KernelArgs& args) const {
    PixelGrid grid(made_, N);
    launch(backward ? avg_pool2d_backward_kernel<N, T> : avg_pool2d_kernel<N, T>, grid.blocks(),
           pixel_threads, args.stream, grid, pool_, static_cast<const T*>(args.inputs[0]),
           static_cast<T*>(args.outputs[0]));
  }

  AvgPoolWindow pool_;
  Shape made_;
};

template <bool backward>
std::unique_ptr<Kernel> make(const AvgPool2dAttributes& a, const TensorSpec& x,
                             const TensorSpec& y) {
  AvgPoolWindow pool{axes_of(a.window(), x.shape, y.shape), x.shape[3], a.count_include_pad};
  return with_cuda_float_type(x.dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<AvgPool2dCudaKernel<decltype(type), backward>>(
        pool, backward ? x.shape : y.shape);
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const AvgPool2dOp& op, const KernelRequest& request) {
  return make<false>(op.attributes(), request.inputs[0], request.outputs[0]);
}

template <>
std::unique_ptr<Kernel> make_cuda(const AvgPool2dBackwardOp& op, const KernelRequest& request) {
  return make<true>(op.attributes(), request.outputs[0], request.inputs[0]);
}

}  // namespace spire::inline kernels
