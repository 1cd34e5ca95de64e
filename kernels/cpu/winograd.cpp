#include "kernels/cpu/winograd.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include <spire/packing.h>

#include "engine/device/device_memory.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/cpu/winograd_tiles.h"

namespace spire::winograd {
namespace {

constexpr int64_t panel_width = tile_product::tile_registers * lane_count;

// Weights (O, C, 3, 3) as 16 matrices, one a point, whose rows are `inner` and whose columns are
// outputs of the convolution.
struct WeightPoints {
  int64_t inner = 0, columns = 0;
  int64_t inner_stride = 0, column_stride = 0;  // in the plain weights
  bool flipped = false;                         // the last tap first

  int64_t matrix() const { return inner * columns; }  // numbers

  int64_t panels() const { return (columns + panel_width - 1) / panel_width; }

  // True if the weights of a panel are one contiguous range.
  bool reads_ranges() const { return inner_stride == 9 && column_stride == 9 * inner && !flipped; }

  // Packs panel `panel` of all points: [point][panel][row][column].
  void pack(const float* plain, int64_t panel, float* packed) const {
    int64_t first = panel * panel_width;
    int64_t width = std::min(panel_width, columns - first);
    for (int64_t column = 0; column < width; column += lane_count) {
      for (int64_t row = 0; row < inner; ++row) {
        const float* from = plain + row * inner_stride + (first + column) * column_stride;
        FloatLanes taps[3][3], result[points_side][points_side];
        for (int tap = 0; tap < 9; ++tap)
          for (int j = 0; j < lane_count; ++j)
            taps[tap / 3][tap % 3][j] = from[j * column_stride + (flipped ? 8 - tap : tap)];
        to_points<WeightTransform>(taps, result);
        float* to = packed + first * inner + row * width + column;
        for (int p = 0; p < points; ++p)
          store_floats(result[p / points_side][p % points_side], to + p * matrix(), lane_count);
      }
    }
  }

  Packing packing(int input) const {
    auto pack_panels = [*this](const float* plain, void* packed, int64_t begin, int64_t end,
                               void*) {
      for (int64_t panel = begin; panel < end; ++panel)
        pack(plain, panel, static_cast<float*>(packed));
    };
    std::string form = fmt::format("winograd points {}x{} strides {}:{}{}", inner, columns,
                                   inner_stride, column_stride, flipped ? " flipped" : "");
    return {.input = input,
            .form = form,
            .bytes = static_cast<size_t>(points * matrix()) * sizeof(float),
            .units = panels(),
            .pack_units = pack_panels,
            .unit_floats = reads_ranges() ? panel_width * column_stride : 0};
  }
};

// y = the convolution of x; gradients of x are one of dy with flipped weights.
template <typename T>
struct Winograd {
  int64_t rows;  // of tiles, of all images
  TiledImages x_tiles, y_tiles;
  WeightPoints weights;
  product::ForwardOptions options;
  int threads;
  int64_t block;  // rows of tiles

  void operator()(const KernelArgs& args) const {
    const auto* x = args.in<T>(0);
    const auto* u = args.in<float>(1);
    const auto* bias = options.bias ? args.in<float>(2) : nullptr;
    auto* y = args.out<T>(0);
    parallel_for(threads, rows, 1, [&](int64_t begin, int64_t end, int thread) {
      float* scratch = args.scratch<float>() + thread * thread_floats();
      for (int64_t first = begin; first < end; first += block)
        compute(x, u, bias, y, first, std::min(end, first + block), scratch);
    });
  }

  int64_t thread_floats() const {
    return points * (x_tiles.point_stride(block) + y_tiles.point_stride(block)) +
           x_tiles.line_floats();
  }

  // m = v u for a point.
  void multiply(const float* v, const float* u, int64_t tiles, float* m) const {
    for (int64_t j = 0; j < y_tiles.c; j += panel_width) {
      int64_t width = std::min(panel_width, y_tiles.c - j);
      tile_product::multiply(tiles, x_tiles.c, width, {v, x_tiles.c, 1}, {u + j * x_tiles.c, width},
                             {m + j, y_tiles.c, false});
    }
  }

  // Computes rows [first, last) of tiles.
  void compute(const T* x, const float* u, const float* bias, T* y, int64_t first, int64_t last,
               float* scratch) const {
    int64_t v_stride = x_tiles.point_stride(block), m_stride = y_tiles.point_stride(block);
    int64_t tiles = x_tiles.columns;
    float *v = scratch, *m = v + points * v_stride, *line = m + points * m_stride;
    for (int64_t row = first; row < last; ++row)
      x_tiles.transform<InputTransform>(x, row, line, v + (row - first) * tiles * x_tiles.c,
                                        v_stride);
    for (int64_t p = 0; p < points; ++p)
      multiply(v + p * v_stride, u + p * weights.matrix(), (last - first) * tiles,
               m + p * m_stride);
    auto finish = [&](FloatLanes sum, int64_t channel) {
      if (bias) sum += load_floats(bias + channel, lane_count);
      if (options.relu) sum = sum < 0 ? FloatLanes{} : sum;  // keeps NaN
      return sum;
    };
    for (int64_t row = first; row < last; ++row)
      y_tiles.store(m + (row - first) * tiles * y_tiles.c, m_stride, row, y, finish);
  }
};

Kernel make(int64_t images, const TiledImages& x, const TiledImages& y, const WeightPoints& weights,
            const product::ForwardOptions& options, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    int64_t rows = images * x.rows, block = std::min(rows, block_rows(x.columns, x.c + y.c));
    Winograd<decltype(type)> run{rows, x, y, weights, options, request.threads, block};
    auto floats = static_cast<size_t>(request.threads * run.thread_floats());
    return Kernel(run, floats * sizeof(float)).reading({weights.packing(1)});
  });
}

}  // namespace

bool computes(const ConvolutionShape& shape) {
  const Window& window = shape.window;
  return window.kernel == Extent2d{3, 3} && window.stride == Extent2d{} &&
         window.dilation == Extent2d{} && std::max(window.padding.h, window.padding.w) <= 2 &&
         shape.c % lane_count == 0 && shape.o % lane_count == 0;
}

bool is_faster(const ConvolutionShape& shape, DType dtype) {
  if (!computes(shape) || !product::fp32_is_fastest(dtype)) return false;
  auto tiles = TiledImages::over(shape.oh, shape.ow, shape.o, shape.oh, shape.ow);
  int64_t computed = tiles.rows * tiles.columns * tile_side * tile_side;
  // Narrow layers are mostly transforms. Weights of wide ones would take too much memory.
  constexpr int64_t narrow = 32, wide = 256;
  return std::min(shape.c, shape.o) >= narrow && std::max(shape.c, shape.o) <= wide &&
         2 * computed <= 3 * shape.oh * shape.ow;
}

Kernel forward(const ConvolutionShape& shape, const product::ForwardOptions& options,
               const KernelRequest& request) {
  auto x = TiledImages::over(shape.h, shape.w, shape.c, shape.oh, shape.ow);
  x.top = shape.window.padding.h;
  x.left = shape.window.padding.w;
  auto y = TiledImages::over(shape.oh, shape.ow, shape.o, shape.oh, shape.ow);
  WeightPoints weights{
      .inner = shape.c, .columns = shape.o, .inner_stride = 9, .column_stride = 9 * shape.c};
  return make(shape.n, x, y, weights, options, request);
}

Kernel backward_data(const ConvolutionShape& shape, const KernelRequest& request) {
  auto dy = TiledImages::over(shape.oh, shape.ow, shape.o, shape.h, shape.w);
  dy.top = 2 - shape.window.padding.h;
  dy.left = 2 - shape.window.padding.w;
  auto dx = TiledImages::over(shape.h, shape.w, shape.c, shape.h, shape.w);
  WeightPoints weights{.inner = shape.o,
                       .columns = shape.c,
                       .inner_stride = 9 * shape.c,
                       .column_stride = 9,
                       .flipped = true};
  return make(shape.n, dy, dx, weights, {}, request);
}

}  // namespace spire::winograd
