// Max pooling on a GPU. A thread takes a pack of channels of one window; backward, of one pixel,
// which gathers from the windows over it, so no sum needs atomics.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/max_pool2d/max_pool2d.h"
#include "kernels/window.h"

namespace spire {

namespace {

struct MaxPoolShape {
  Shape x, y;
  WindowAxes axes;
};

template <int N, typename T>
__global__ void __launch_bounds__(pixel_threads)
    max_pool2d_kernel(PixelGrid grid, WindowAxes axes, int64_t channels, const T* x, T* y,
                      uint8_t* which) {
  if (!grid.has(pixel_thread())) return;
  Pixel pixel = grid.pixel(pixel_thread());
  const auto [h, w] = axes;
  IndexRange rows = h.pixels(pixel.row), columns = w.pixels(pixel.column);
  x += pixel.sample * h.in * w.in * channels + pixel.channel;
  auto tap_of = [&](int64_t p, int64_t q) {
    return static_cast<uint8_t>((p - axes.h.start(pixel.row)) * axes.w.kernel + q -
                                axes.w.start(pixel.column));
  };
  // The first tap on x begins as the maximum: padding never is.
  float best[N];
  Pack<uint8_t, N> best_tap;
  auto first = load_pack<N>(x + (rows.begin * w.in + columns.begin) * channels);
  for (int k = 0; k < N; ++k) {
    best[k] = static_cast<float>(first.at[k]);
    best_tap.at[k] = tap_of(rows.begin, columns.begin);
  }
  for (int64_t p = rows.begin; p < rows.end; ++p) {
    for (int64_t q = columns.begin; q < columns.end; ++q) {
      auto pack = load_pack<N>(x + (p * w.in + q) * channels);
      for (int k = 0; k < N; ++k) {
        auto value = static_cast<float>(pack.at[k]);
        // A NaN is above all, the first maximum stays.
        bool above = value > best[k] || value != value;
        best[k] = above ? value : best[k];
        best_tap.at[k] = above ? tap_of(p, q) : best_tap.at[k];
      }
    }
  }
  Pack<T, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = T(best[k]);
  store_pack(result, y + pixel.at);
  store_pack(best_tap, which + pixel.at);
}

template <int N, typename T>
__global__ void __launch_bounds__(pixel_threads)
    max_pool2d_backward_kernel(PixelGrid grid, WindowAxes axes, int64_t channels, const T* dy,
                               const uint8_t* which, T* dx) {
  if (!grid.has(pixel_thread())) return;
  Pixel pixel = grid.pixel(pixel_thread());
  const auto [h, w] = axes;
  IndexRange rows = h.positions(pixel.row), columns = w.positions(pixel.column);
  int64_t first = pixel.sample * h.out * w.out * channels + pixel.channel;
  float sum[N] = {};
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      // The pixel's tap in this window: the window's gradient is the pixel's if that tap was the
      // maximum.
      int64_t at = first + (i * w.out + j) * channels;
      auto tap =
          static_cast<uint8_t>((pixel.row - h.start(i)) * w.kernel + pixel.column - w.start(j));
      auto winner = load_pack<N>(which + at);
      auto gradient = load_pack<N>(dy + at);
      for (int k = 0; k < N; ++k)
        if (winner.at[k] == tap) sum[k] += static_cast<float>(gradient.at[k]);
    }
  }
  Pack<T, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = T(sum[k]);
  store_pack(result, dx + pixel.at);
}

}  // namespace

template <>
Kernel make_cuda(const MaxPool2dOp& op, const KernelRequest& request) {
  const Shape &x = request.inputs[0].shape, &y = request.outputs[0].shape;
  return with_packs(request.inputs[0].dtype, x[3], [&](auto type, auto pack) -> Kernel {
    using T = decltype(type);
    constexpr int N = pack();
    return [grid = PixelGrid(y, N), axes = axes_of(op.attributes().window(), x, y),
            channels = x[3]](const KernelArgs& args) {
      launch(max_pool2d_kernel<N, T>, grid.blocks(), pixel_threads, args.stream, grid, axes,
             channels, args.in<T>(0), args.out<T>(0), args.out<uint8_t>(1));
    };
  });
}

template <>
Kernel make_cuda(const MaxPool2dBackwardOp& op, const KernelRequest& request) {
  const Shape &x = request.outputs[0].shape, &y = request.inputs[0].shape;
  return with_packs(request.inputs[0].dtype, x[3], [&](auto type, auto pack) -> Kernel {
    using T = decltype(type);
    constexpr int N = pack();
    return [grid = PixelGrid(x, N), axes = axes_of(op.attributes().window(), x, y),
            channels = x[3]](const KernelArgs& args) {
      launch(max_pool2d_backward_kernel<N, T>, grid.blocks(), pixel_threads, args.stream, grid,
             axes, channels, args.in<T>(0), args.in<uint8_t>(1), args.out<T>(0));
    };
  });
}

}  // namespace spire
