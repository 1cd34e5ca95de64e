// The gradient of a convolution's weights by Winograd's F(2x2, 3x3): G^T (Z * V) G.
#include <algorithm>
#include <cstddef>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd_tiles.h"

namespace spire::inline kernels::winograd {
namespace {

template <typename T>
class WeightGradient : public Kernel {
 public:
  WeightGradient(const ConvolutionShape& shape, bool bias, int threads)
      : x_(TiledImages::over(shape.h, shape.w, shape.c, shape.oh, shape.ow)),
        dy_(TiledImages::over(shape.oh, shape.ow, shape.o, shape.oh, shape.ow)),
        rows_(shape.n * x_.rows),
        bias_(bias),
        threads_(threads),
        block_(std::min(rows_, block_rows(x_.columns, shape.c + shape.o))) {
    x_.top = shape.window.padding.h;
    x_.left = shape.window.padding.w;
  }

  size_t workspace_bytes() const override {
    int64_t floats = points * (v_stride() + z_stride() + x_.c * dy_.c) +
                     threads_ * (x_.line_floats() + dy_.line_floats());
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    const auto* x = static_cast<const T*>(args.inputs[0]);
    const auto* dy = static_cast<const T*>(args.inputs[1]);
    auto* v = static_cast<float*>(args.workspace);
    float *z = v + points * v_stride(), *sums = z + points * z_stride();
    float* lines = sums + points * x_.c * dy_.c;
    for (int64_t first = 0; first < rows_; first += block_) {
      int64_t last = std::min(rows_, first + block_);
      transform(x, dy, first, last, v, z, lines);
      add_products(v, z, (last - first) * x_.columns, sums, first > 0);
      if (bias_)
        add_bias(z, (last - first) * x_.columns, static_cast<float*>(args.outputs[1]), first > 0);
    }
    deliver(sums, static_cast<float*>(args.outputs[0]));
  }

 private:
  int64_t v_stride() const { return x_.point_stride(block_); }
  int64_t z_stride() const { return dy_.point_stride(block_); }

  void transform(const T* x, const T* dy, int64_t first, int64_t last, float* v, float* z,
                 float* lines) const {
    parallel_for(threads_, last - first, 1, [&](int64_t begin, int64_t end, int thread) {
      float* line = lines + thread * (x_.line_floats() + dy_.line_floats());
      for (int64_t row = begin; row < end; ++row) {
        int64_t tile = row * x_.columns;
        x_.transform<InputTransform>(x, first + row, line, v + tile * x_.c, v_stride());
        dy_.transform<OutputGradientTransform>(dy, first + row, line, z + tile * dy_.c, z_stride());
      }
    });
  }

  // sums[point] (O, C) = Z^T V, or adds it.
  void add_products(const float* v, const float* z, int64_t tiles, float* sums, bool add) const {
    parallel_for(threads_, points, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t p = begin; p < end; ++p)
        tile_product::multiply(dy_.c, tiles, x_.c, {z + p * z_stride(), 1, dy_.c},
                               {v + p * v_stride(), x_.c}, {sums + p * x_.c * dy_.c, x_.c, add});
    });
  }

  // db = the sum of dy, or adds it: point (1, 1) of Z is the sum of a tile.
  void add_bias(const float* z, int64_t tiles, float* db, bool add) const {
    const float* sums = z + (points_side + 1) * z_stride();
    for (int64_t o = 0; o < dy_.c; o += lane_count) {
      FloatLanes sum{};
      for (int64_t tile = 0; tile < tiles; ++tile)
        sum += load_floats(sums + tile * dy_.c + o, lane_count);
      if (add) sum += load_floats(db + o, lane_count);
      store_floats(sum, db + o, lane_count);
    }
  }

  void deliver(const float* sums, float* dw) const {
    int64_t c = x_.c, matrix = c * dy_.c;
    parallel_for(threads_, matrix, lane_count, [&](int64_t begin, int64_t end, int) {
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

  TiledImages x_, dy_;
  const int64_t rows_;  // of tiles, of all images
  const bool bias_;
  const int threads_;
  const int64_t block_;  // rows of tiles
};

}  // namespace

std::unique_ptr<Kernel> backward_weights(const ConvolutionShape& shape, bool bias,
                                         const KernelRequest& request) {
  if (request.inputs[0].dtype == DType::f32)
    return std::make_unique<WeightGradient<float>>(shape, bias, request.threads);
  return std::make_unique<WeightGradient<bfloat16>>(shape, bias, request.threads);
}

}  // namespace spire::inline kernels::winograd
