// Pooling on a GPU. Over a window a thread takes a pack of channels of one position; backward, of
// one pixel, which gathers from the windows over it, so no sum needs atomics. Over all pixels a
// block averages a few packs of channels of one sample: its threads share the pixels, and their
// sums are added in pairs; backward, a thread writes a pack.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/pool2d/pool2d.h"

namespace spire {

namespace {

struct AvgPoolWindow {
  WindowAxes axes;
  int64_t channels;
  bool count_include_pad;

  // Returns the divisor of the window at (i, j).
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
  // Rows and columns of x under the window, without padding.
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
  // Windows that cover the pixel. Each gives it an equal share of its gradient.
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

constexpr int64_t max_packs = 32;  // a block's

struct GlobalAvgPoolGrid {
  int64_t samples, pixels, channels;
};

// Thread t takes pack t % packs and every (threads / packs)-th pixel. packs: a power of 2.
template <int N, typename T>
__global__ void __launch_bounds__(block_threads)
    global_average_kernel(GlobalAvgPoolGrid e, Divider blocks_a_sample, int packs, const T* x,
                          T* y) {
  __shared__ float sums[N][block_threads];
  auto thread = static_cast<int>(threadIdx.x);
  auto [sample, part] = blocks_a_sample.divide(blockIdx.x);
  // The block's sample and its part of the channels; threads behind the last channel add zeros.
  int64_t channel = (part * packs + thread % packs) * N;
  float sum[N] = {};
  if (channel < e.channels) {
    for (int64_t p = thread / packs; p < e.pixels; p += block_threads / packs) {
      auto pack = load_pack<N>(x + (sample * e.pixels + p) * e.channels + channel);
      for (int k = 0; k < N; ++k) sum[k] += static_cast<float>(pack.at[k]);
    }
  }
  for (int k = 0; k < N; ++k) sums[k][thread] = sum[k];
  // Threads of one pack are `packs` apart: halving adds them in pairs until `packs` sums are left.
  for (int half = block_threads / 2; half >= packs; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
    for (int k = 0; k < N; ++k) sums[k][thread] += sums[k][thread + half];
  }
  if (thread >= packs || channel >= e.channels) return;
  auto pixels = static_cast<float>(e.pixels);
  Pack<T, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = T(sums[k][thread] / pixels);
  store_pack(result, y + sample * e.channels + channel);
}

template <int N, typename T>
__global__ void __launch_bounds__(pixel_threads)
    global_average_backward_kernel(PixelGrid grid, float pixels, int64_t channels, const T* dy,
                                   T* dx) {
  if (!grid.has(pixel_thread())) return;
  Pixel pixel = grid.pixel(pixel_thread());
  auto pack = load_pack<N>(dy + pixel.sample * channels + pixel.channel);
  for (T& value : pack.at) value = T(static_cast<float>(value) / pixels);
  store_pack(pack, dx + pixel.at);
}

template <bool backward>
Kernel make_avg_pool(const AvgPool2dAttributes& a, const TensorSpec& x, const TensorSpec& y) {
  AvgPoolWindow pool{axes_of(a.window(), x.shape, y.shape), x.shape[3], a.count_include_pad};
  return with_packs(x.dtype, x.shape[3], [&]<typename T>(T, auto pack) -> Kernel {
    constexpr int N = pack();
    return [pool, grid = PixelGrid(backward ? x.shape : y.shape, N)](const KernelArgs& args) {
      launch(backward ? avg_pool2d_backward_kernel<N, T> : avg_pool2d_kernel<N, T>, grid.blocks(),
             pixel_threads, args.stream, grid, pool, args.in<T>(0), args.out<T>(0));
    };
  });
}

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
Kernel make_cuda(const AvgPool2dOp& op, const KernelRequest& request) {
  return make_avg_pool<false>(op.attributes(), request.inputs[0], request.outputs[0]);
}

template <>
Kernel make_cuda(const AvgPool2dBackwardOp& op, const KernelRequest& request) {
  return make_avg_pool<true>(op.attributes(), request.outputs[0], request.inputs[0]);
}

template <>
Kernel make_cuda(const GlobalAvgPoolOp&, const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape;
  return with_packs(request.inputs[0].dtype, x[3], [&]<typename T>(T, auto pack) -> Kernel {
    constexpr int N = pack();
    GlobalAvgPoolGrid e{x[0], x[1] * x[2], x[3]};
    int64_t packs = 1;
    // As many packs side by side as the channels need, so that reads are contiguous; the other
    // threads share the pixels.
    while (packs < max_packs && packs * N < e.channels) packs *= 2;
    Divider blocks_a_sample((e.channels + packs * N - 1) / (packs * N));
    return [=](const KernelArgs& args) {
      launch(global_average_kernel<N, T>,
             static_cast<unsigned>(e.samples * blocks_a_sample.divisor()), block_threads,
             args.stream, e, blocks_a_sample, static_cast<int>(packs), args.in<T>(0),
             args.out<T>(0));
    };
  });
}

template <>
Kernel make_cuda(const GlobalAvgPoolBackwardOp&, const KernelRequest& request) {
  const Shape& x = request.outputs[0].shape;
  return with_packs(request.inputs[0].dtype, x[3], [&]<typename T>(T, auto pack) -> Kernel {
    constexpr int N = pack();
    return [grid = PixelGrid(x, N), pixels = static_cast<float>(x[1] * x[2]),
            channels = x[3]](const KernelArgs& args) {
      launch(global_average_backward_kernel<N, T>, grid.blocks(), pixel_threads, args.stream, grid,
             pixels, channels, args.in<T>(0), args.out<T>(0));
    };
  });
}

template <>
Kernel make_cuda(const MaxPool2dOp& op, const KernelRequest& request) {
  const Shape &x = request.inputs[0].shape, &y = request.outputs[0].shape;
  return with_packs(request.inputs[0].dtype, x[3], [&]<typename T>(T, auto pack) -> Kernel {
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
  return with_packs(request.inputs[0].dtype, x[3], [&]<typename T>(T, auto pack) -> Kernel {
    constexpr int N = pack();
    return [grid = PixelGrid(x, N), axes = axes_of(op.attributes().window(), x, y),
            channels = x[3]](const KernelArgs& args) {
      launch(max_pool2d_backward_kernel<N, T>, grid.blocks(), pixel_threads, args.stream, grid,
             axes, channels, args.in<T>(0), args.in<uint8_t>(1), args.out<T>(0));
    };
  });
}

}  // namespace spire
