// The gradient of a convolution's weights by Winograd's F(2x2, 3x3): G^T (Z * V) G.
#include <algorithm>
#include <cstddef>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd_tiles.h"

namespace spire::winograd {
namespace {

template <typename T>
struct WeightGradient {
  TiledImages x_tiles, dy_tiles;
  int64_t rows;  // of tiles, of all images
  bool bias;
  int threads;
  int64_t block;  // rows of tiles

  size_t workspace_bytes() const {
    int64_t floats = points * (v_stride() + z_stride() + x_tiles.c * dy_tiles.c) +
                     threads * (x_tiles.line_floats() + dy_tiles.line_floats());
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void operator()(const KernelArgs& args) const {
    const auto* x = args.in<T>(0);
    const auto* dy = args.in<T>(1);
    auto* v = args.scratch<float>();
    float *z = v + points * v_stride(), *sums = z + points * z_stride();
    float* lines = sums + points * x_tiles.c * dy_tiles.c;
    for (int64_t first = 0; first < rows; first += block) {
      int64_t last = std::min(rows, first + block);
      transform(x, dy, first, last, v, z, lines);
      add_products(v, z, (last - first) * x_tiles.columns, sums, first > 0);
      if (bias) add_bias(z, (last - first) * x_tiles.columns, args.out<float>(1), first > 0);
    }
    deliver(sums, args.out<float>(0));
  }

  int64_t v_stride() const { return x_tiles.point_stride(block); }
  int64_t z_stride() const { return dy_tiles.point_stride(block); }

  void transform(const T* x, const T* dy, int64_t first, int64_t last, float* v, float* z,
                 float* lines) const {
    parallel_for(threads, last - first, 1, [&](int64_t begin, int64_t end, int thread) {
      float* line = lines + thread * (x_tiles.line_floats() + dy_tiles.line_floats());
      for (int64_t row = begin; row < end; ++row) {
        int64_t tile = row * x_tiles.columns;
        x_tiles.transform<InputTransform>(x, first + row, line, v + tile * x_tiles.c, v_stride());
        dy_tiles.transform<OutputGradientTransform>(dy, first + row, line, z + tile * dy_tiles.c,
                                                    z_stride());
      }
    });
  }

  // sums[point] (O, C) = Z^T V, or adds it.
  void add_products(const float* v, const float* z, int64_t tiles, float* sums, bool add) const {
    parallel_for(threads, points, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t p = begin; p < end; ++p)
        tile_product::multiply(dy_tiles.c, tiles, x_tiles.c, {z + p * z_stride(), 1, dy_tiles.c},
                               {v + p * v_stride(), x_tiles.c},
                               {sums + p * x_tiles.c * dy_tiles.c, x_tiles.c, add});
    });
  }

  // db = the sum of dy, or adds it: point (1, 1) of Z is the sum of a tile.
  void add_bias(const float* z, int64_t tiles, float* db, bool add) const {
    const float* sums = z + (points_side + 1) * z_stride();
    for (int64_t o = 0; o < dy_tiles.c; o += lane_count) {
      FloatLanes sum{};
      for (int64_t tile = 0; tile < tiles; ++tile)
        sum += load_floats(sums + tile * dy_tiles.c + o, lane_count);
      if (add) sum += load_floats(db + o, lane_count);
      store_floats(sum, db + o, lane_count);
    }
  }

  void deliver(const float* sums, float* dw) const {
    int64_t c = x_tiles.c, matrix = c * dy_tiles.c;
    parallel_for(threads, matrix, lane_count, [&](int64_t begin, int64_t end, int) {
      for (int64_t first = begin; first < end; first += lane_count) {
        FloatLanes m[points_side][points_side], taps[3][3];
        for (int p = 0; p < points; ++p)
          m[p / points_side][p % points_side] = load_floats(sums + p * matrix + first, lane_count);
        from_points<WeightGradientTransform>(m, taps);
        for (int tap = 0; tap < 9; ++tap)
          for (int j = 0; j < lane_count; ++j)
            dw[(first + j) * 9 + tap] = taps[tap / 3][tap % 3][j];
      }
    });
  }
};

}  // namespace

Kernel backward_weights(const ConvolutionShape& shape, bool bias, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    auto x = TiledImages::over(shape.h, shape.w, shape.c, shape.oh, shape.ow);
    auto dy = TiledImages::over(shape.oh, shape.ow, shape.o, shape.oh, shape.ow);
    x.top = shape.window.padding.h;
    x.left = shape.window.padding.w;
    int64_t rows = shape.n * x.rows;
    int64_t block = std::min(rows, block_rows(x.columns, shape.c + shape.o));
    WeightGradient<decltype(type)> run{x, dy, rows, bias, request.threads, block};
    return Kernel(run, run.workspace_bytes());
  });
}

}  // namespace spire::winograd
