// Plain to krsc and back are transpositions of small matrices: (C, KH KW) or (KH KW, C), one per
// output channel.
#include "engine/device/cuda_error.h"
#include "kernels/cuda/divide.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/packing_launches.h"
#include "kernels/kernel.h"
#include "kernels/ops/elementwise/elementwise.h"

namespace spire {
namespace {

constexpr int64_t tile_floats = 2048;
constexpr int64_t max_pixels = 64;  // of a tile; a larger filter has several tiles

// Tiles of matrices (rows, columns) that lie one after another. A tile is read by rows and written
// by columns. It spans all pixels if they fit, so that reads or writes are one run of memory.
struct FilterTiles {
  int64_t rows, columns;
  int64_t tile_rows, tile_columns;
  int64_t from_pitch, to_pitch;  // elements between rows of a matrix, and of its transpose
  int64_t pitch;  // of a tile in shared memory; odd, so that a column spreads over the banks
  Divider row_tiles, column_tiles;

  FilterTiles(int64_t row_count, int64_t column_count, int64_t from_row, int64_t to_row,
              int64_t rows_of_tile, int64_t columns_of_tile)
      : rows(row_count),
        columns(column_count),
        tile_rows(rows_of_tile),
        tile_columns(columns_of_tile),
        from_pitch(from_row),
        to_pitch(to_row),
        pitch(columns_of_tile | 1),
        row_tiles((rows + tile_rows - 1) / tile_rows),
        column_tiles((columns + tile_columns - 1) / tile_columns) {}

  unsigned blocks(int64_t matrices) const {
    return static_cast<unsigned>(matrices * row_tiles.divisor() * column_tiles.divisor());
  }
};

template <typename From, typename To>
__global__ void __launch_bounds__(block_threads)
    transpose_kernel(FilterTiles t, const From* from, To* to) {
  __shared__ float tile[tile_floats];
  // The block's matrix and tile; the last tiles are smaller.
  auto [rest, row_tile] = t.row_tiles.divide(blockIdx.x);
  auto [matrix, column_tile] = t.column_tiles.divide(rest);
  int64_t row = row_tile * t.tile_rows, column = column_tile * t.tile_columns;
  auto rows = static_cast<unsigned>(smaller(t.tile_rows, t.rows - row));
  auto columns = static_cast<unsigned>(smaller(t.tile_columns, t.columns - column));
  from += (matrix * t.rows + row) * t.from_pitch + column;
  to += (matrix * t.columns + column) * t.to_pitch + row;
  for (unsigned i = threadIdx.x; i < rows * columns; i += block_threads) {
    unsigned r = i / columns, c = i % columns;
    tile[r * t.pitch + c] = static_cast<float>(from[r * t.from_pitch + c]);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < rows * columns; i += block_threads) {
    unsigned c = i / rows, r = i % rows;
    to[c * t.to_pitch + r] = To(tile[r * t.pitch + c]);
  }
}

// Extents of a filter and of its tiles.
struct FilterExtents {
  int64_t channels, pixels;            // C and KH KW of one output channel
  int64_t tile_channels, tile_pixels;  // fit shared memory, transposed or not
};

FilterExtents filter_extents(const Shape& plain) {
  int64_t pixels = plain[2] * plain[3], tile_pixels = smaller(pixels, max_pixels);
  // (pixels | 1) channels and (channels | 1) pixels must both fit.
  int64_t fit = (tile_floats - tile_pixels) / (tile_pixels + 1);
  return {plain[1], pixels, smaller(plain[1], fit), tile_pixels};
}

}  // namespace

void launch_cast(void* stream, int64_t n, DType dtype, const float* plain, void* packed) {
  with_any_float_type(dtype, [&](auto type) {
    elementwise_cuda(stream, n, static_cast<decltype(type)*>(packed), SameNumber{}, plain);
  });
}

bool same_order(const Shape& plain) {
  return plain[1] == 1 || plain[2] * plain[3] == 1;
}

void launch_krsc(void* stream, const Shape& shape, int64_t channels, DType dtype, int64_t filters,
                 const float* plain, void* krsc) {
  FilterExtents e = filter_extents(shape);
  FilterTiles tiles(e.channels, e.pixels, e.pixels, channels, e.tile_channels, e.tile_pixels);
  if (channels > e.channels)
    check_cuda(cudaMemsetAsync(krsc, 0,
                               static_cast<size_t>(filters * e.pixels * channels) * size_of(dtype),
                               static_cast<cudaStream_t>(stream)),
               "cudaMemsetAsync");
  with_any_float_type(dtype, [&](auto type) {
    launch(transpose_kernel<float, decltype(type)>, tiles.blocks(filters), block_threads, stream,
           tiles, plain, static_cast<decltype(type)*>(krsc));
  });
}

void krsc_to_plain(const Shape& shape, int64_t channels, DType dtype, const void* krsc,
                   float* plain, void* stream) {
  FilterExtents e = filter_extents(shape);
  FilterTiles tiles(e.pixels, e.channels, channels, e.pixels, e.tile_pixels, e.tile_channels);
  with_any_float_type(dtype, [&](auto type) {
    auto* from = static_cast<const decltype(type)*>(krsc);
    if (same_order(shape) && channels == e.channels)
      return elementwise_cuda(stream, shape.elements(), plain, SameNumber{}, from);
    launch(transpose_kernel<decltype(type), float>, tiles.blocks(shape[0]), block_threads, stream,
           tiles, from, plain);
  });
}

}  // namespace spire
