// The tiles of Winograd's convolution F(2x2, 3x3): Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", CVPR 2016. A tile of 2 x 2 outputs reads 4 x 4 inputs. With
//
//   V = B^T d B,  U = G g G^T,  Z = A e A^T     (d: inputs, g: 3 x 3 weights, e: gradients of y)
//
// it is y = A^T (U * V) A, summed over channels, and the weight gradient is G^T (Z * V) G, summed
// over tiles, where * multiplies element by element. Each of the 16 points of a tile is a product
// of matrices: 16 multiplications instead of 36.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/cpu/simd.h"

namespace spire::winograd {

constexpr int tile_side = 2, points_side = 4, points = 16;

// Each struct multiplies one of the matrices with a column of numbers: B^T, A and G turn `size`
// numbers into the 4 points of an axis, A^T and G^T turn 4 points into `size` numbers.
struct InputTransform {
  static constexpr int size = 4;
  static void apply(const FloatLanes (&d)[4], FloatLanes (&v)[4]) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[1] - d[3];
  }
};
struct OutputGradientTransform {
  static constexpr int size = 2;
  static void apply(const FloatLanes (&e)[2], FloatLanes (&z)[4]) {
    z[0] = e[0];
    z[1] = e[0] + e[1];
    z[2] = e[0] - e[1];
    z[3] = -e[1];
  }
};
struct WeightTransform {
  static constexpr int size = 3;
  static void apply(const FloatLanes (&g)[3], FloatLanes (&u)[4]) {
    FloatLanes even = 0.5f * (g[0] + g[2]), odd = 0.5f * g[1];
    u[0] = g[0];
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = g[2];
  }
};
struct OutputTransform {
  static constexpr int size = 2;
  static void apply(const FloatLanes (&m)[4], FloatLanes (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
};
struct WeightGradientTransform {
  static constexpr int size = 3;
  static void apply(const FloatLanes (&m)[4], FloatLanes (&g)[3]) {
    FloatLanes even = 0.5f * (m[1] + m[2]);
    g[0] = m[0] + even;
    g[1] = 0.5f * (m[1] - m[2]);
    g[2] = even + m[3];
  }
};

// Both axes of a transform to points: (size, size) -> (4, 4).
template <typename Transform>
inline void to_points(const FloatLanes (&from)[Transform::size][Transform::size],
                      FloatLanes (&to)[points_side][points_side]) {
  constexpr int size = Transform::size;
  FloatLanes half[size][points_side];
  for (int i = 0; i < size; ++i) Transform::apply(from[i], half[i]);
  for (int j = 0; j < points_side; ++j) {
    FloatLanes column[size], result[points_side];
    for (int i = 0; i < size; ++i) column[i] = half[i][j];
    Transform::apply(column, result);
    for (int i = 0; i < points_side; ++i) to[i][j] = result[i];
  }
}

// Both axes of a transform from points: (4, 4) -> (size, size).
template <typename Transform>
inline void from_points(const FloatLanes (&from)[points_side][points_side],
                        FloatLanes (&to)[Transform::size][Transform::size]) {
  constexpr int size = Transform::size;
  FloatLanes half[points_side][size];
  for (int i = 0; i < points_side; ++i) Transform::apply(from[i], half[i]);
  for (int j = 0; j < size; ++j) {
    FloatLanes column[points_side], result[size];
    for (int i = 0; i < points_side; ++i) column[i] = half[i][j];
    Transform::apply(column, result);
    for (int i = 0; i < size; ++i) to[i][j] = result[i];
  }
}

// Returns how many rows of tiles are transformed and multiplied at a time: as many as keep their
// points in the L2 cache. channels: of inputs and outputs together; each takes `points` floats per
// tile.
inline int64_t block_rows(int64_t tiles_per_row, int64_t channels) {
  constexpr int64_t cached_floats = int64_t{1} << 17, least_tiles = 48;
  int64_t tiles = std::max(cached_floats / (points * channels), least_tiles);
  return std::max<int64_t>(1, tiles / tiles_per_row);
}

// Images (N, H, W, C) seen as rows of tiles. The first tile of an image begins `top` rows and
// `left` columns before the image; C is a multiple of 16.
struct TiledImages {
  int64_t h = 0, w = 0, c = 0;
  int64_t top = 0, left = 0;
  int64_t rows = 0, columns = 0;  // of tiles, of an image

  static TiledImages over(int64_t h, int64_t w, int64_t c, int64_t outputs_h, int64_t outputs_w) {
    return {h, w, c, 0, 0, (outputs_h + 1) / tile_side, (outputs_w + 1) / tile_side};
  }
  // Floats of the scratch memory `line` of transform().
  int64_t line_floats() const { return points_side * tile_side * (columns + 1) * c; }
  // Floats from one point of `count` rows of tiles to the next: an odd number of cache lines, so
  // that the points of a tile are in different sets of a cache.
  int64_t point_stride(int64_t count) const {
    return count * columns * c / (2 * lane_count) * (2 * lane_count) + 3 * lane_count;
  }

  // Transforms a row of tiles. row: its index among the rows of tiles of all images. Point p of the
  // row's tile t is stored at to + p * stride + t * C.
  template <typename Transform, typename T>
  void transform(const T* images, int64_t row, float* line, float* to, int64_t stride) const {
    transform_down<Transform>(images + row / rows * h * w * c, row % rows * tile_side - top, line);
    constexpr int size = Transform::size;
    int64_t width = line_columns(size) * c;
    for (int64_t t = 0; t < columns; ++t) {
      for (int64_t i = 0; i < points_side; ++i) {
        const float* from = line + i * width + t * tile_side * c;
        for (int64_t j = 0; j < c; j += lane_count) {
          FloatLanes in[size], out[points_side];
          for (int k = 0; k < size; ++k) in[k] = load_floats(from + k * c + j, lane_count);
          Transform::apply(in, out);
          for (int k = 0; k < points_side; ++k)
            store_floats(out[k], to + (i * points_side + k) * stride + t * c + j, lane_count);
        }
      }
    }
  }

  // Computes a row of tiles of these images, the outputs, from its points and stores it. Point p of
  // the row's tile t is at from + p * stride + t * C. Each register of outputs passes through
  // finish(FloatLanes, channel).
  template <typename T, typename Finish>
  void store(const float* from, int64_t stride, int64_t row, T* images,
             const Finish& finish) const {
    int64_t y = row % rows * tile_side;
    T* to = images + (row / rows * h + y) * w * c;
    int64_t down = std::min<int64_t>(tile_side, h - y);
    for (int64_t t = 0; t < columns; ++t) {
      int64_t across = std::min<int64_t>(tile_side, w - t * tile_side);
      for (int64_t channel = 0; channel < c; channel += lane_count) {
        FloatLanes m[points_side][points_side], out[tile_side][tile_side];
        for (int p = 0; p < points; ++p)
          m[p / points_side][p % points_side] =
              load_floats(from + p * stride + t * c + channel, lane_count);
        from_points<OutputTransform>(m, out);
        for (int64_t i = 0; i < down; ++i)
          for (int64_t j = 0; j < across; ++j)
            store_floats(finish(out[i][j], channel), to + (i * w + t * tile_side + j) * c + channel,
                         lane_count);
      }
    }
  }

 private:
  // Columns that a row of tiles of size x size numbers reads.
  int64_t line_columns(int size) const { return tile_side * columns + size - tile_side; }

  // Transforms the columns of rows [y, y + size) of an image, with zeros around it, to
  // line[point][column][C].
  template <typename Transform, typename T>
  void transform_down(const T* image, int64_t y, float* line) const {
    constexpr int size = Transform::size;
    int64_t width = line_columns(size) * c;
    int64_t before = std::min(left * c, width), n = std::min(w * c, width - before);
    for (int i = 0; i < points_side; ++i) {
      std::fill_n(line + i * width, before, 0.0f);
      std::fill(line + i * width + before + n, line + (i + 1) * width, 0.0f);
    }
    for (int64_t j = 0; j < n; j += lane_count) {
      FloatLanes in[size], out[points_side];
      for (int k = 0; k < size; ++k) {
        bool inside = y + k >= 0 && y + k < h;
        in[k] = inside ? load_floats(image + (y + k) * w * c + j, lane_count) : FloatLanes{};
      }
      Transform::apply(in, out);
      for (int i = 0; i < points_side; ++i)
        store_floats(out[i], line + i * width + before + j, lane_count);
    }
  }
};

}  // namespace spire::winograd
