// Plain to krsc and back are transpositions of small matrices: (C, KH KW) or (KH KW, C), one per
// output channel.
#include "engine/device/cuda_error.h"
#include "kernels/cuda/divide.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/packing.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {
namespace {

constexpr int threads = 256;
constexpr int64_t tile_floats = 2048;
constexpr int64_t max_pixels = 64;  // of a tile; a larger filter has several tiles

// Tiles of matrices (rows, columns) that lie one after another. A tile is read by rows and written
// by columns. It spans all pixels if they fit, so that reads or writes are one run of memory.
struct Tiles {
  int64_t rows, columns;
  int64_t tile_rows, tile_columns;
  int64_t pitch;  // of a tile in shared memory; odd, so that a column spreads over the banks
  Divider row_tiles, column_tiles;

  Tiles(int64_t row_count, int64_t column_count, int64_t rows_of_tile, int64_t columns_of_tile)
      : rows(row_count),
        columns(column_count),
        tile_rows(rows_of_tile),
        tile_columns(columns_of_tile),
        pitch(columns_of_tile | 1),
        row_tiles((rows + tile_rows - 1) / tile_rows),
        column_tiles((columns + tile_columns - 1) / tile_columns) {}

  unsigned blocks(int64_t matrices) const {
    return static_cast<unsigned>(matrices * row_tiles.divisor() * column_tiles.divisor());
  }
};

template <typename From, typename To>
__global__ void __launch_bounds__(threads) transpose_kernel(Tiles t, const From* from, To* to) {
  __shared__ float tile[tile_floats];
  // The block's matrix and tile; the last tiles are smaller.
  auto [rest, row_tile] = t.row_tiles.divide(blockIdx.x);
  auto [matrix, column_tile] = t.column_tiles.divide(rest);
  int64_t row = row_tile * t.tile_rows, column = column_tile * t.tile_columns;
  auto rows = static_cast<unsigned>(std::min(t.tile_rows, t.rows - row));
  auto columns = static_cast<unsigned>(std::min(t.tile_columns, t.columns - column));
  from += (matrix * t.rows + row) * t.columns + column;
  to += (matrix * t.columns + column) * t.rows + row;
  for (unsigned i = threadIdx.x; i < rows * columns; i += threads) {
    unsigned r = i / columns, c = i % columns;
    tile[r * t.pitch + c] = static_cast<float>(from[r * t.columns + c]);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < rows * columns; i += threads) {
    unsigned c = i / rows, r = i % rows;
    to[c * t.rows + r] = To(tile[r * t.pitch + c]);
  }
}

// Extents of a filter and of its tiles.
struct Extents {
  int64_t channels, pixels;            // C and KH KW of one output channel
  int64_t tile_channels, tile_pixels;  // fit shared memory, transposed or not
};

Extents extents_of(const Shape& plain) {
  int64_t pixels = plain[2] * plain[3], tile_pixels = std::min(pixels, max_pixels);
  // (pixels | 1) channels and (channels | 1) pixels must both fit.
  int64_t fit = (tile_floats - tile_pixels) / (tile_pixels + 1);
  return {plain[1], pixels, std::min(plain[1], fit), tile_pixels};
}

struct Same {
  __device__ float operator()(float x) const { return x; }
};

}  // namespace

Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows) {
  const Shape& shape = request.inputs[static_cast<size_t>(input)].shape;
  // more: elements of the added rows.
  int64_t n = shape.elements(), more = rows > 0 ? n / shape[0] * rows - n : 0;
  // One unit, so the range is all or nothing.
  auto cast = [=](const float* plain, void* packed, int64_t first, int64_t last, void* stream) {
    if (first == last) return;
    with_cuda_float_type(dtype, [&](auto type) {
      auto* to = static_cast<decltype(type)*>(packed);
      elementwise_cuda(stream, n, to, Same{}, plain);
      if (more == 0) return;
      check_cuda(cudaMemsetAsync(to + n, 0, static_cast<size_t>(more) * sizeof *to,
                                 static_cast<cudaStream_t>(stream)),
                 "cudaMemsetAsync");
    });
  };
  return {
      .input = input,
      .form = fmt::format("plain {}{}", name(dtype), more ? fmt::format(" of {} rows", rows) : ""),
      .bytes = static_cast<size_t>(n + more) * size_of(dtype),
      .units = 1,
      .pack_units = cast};
}

bool same_order(const Shape& plain) {
  return plain[1] == 1 || plain[2] * plain[3] == 1;
}

std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request) {
  Shape shape = request.inputs[static_cast<size_t>(input)].shape;
  if (same_order(shape)) {
    if (dtype == DType::f32) return {};
    return {cast_packing(input, dtype, request)};
  }
  Extents e = extents_of(shape);
  Tiles tiles(e.channels, e.pixels, e.tile_channels, e.tile_pixels);
  int64_t stride = e.channels * e.pixels;
  auto pack = [=](const float* plain, void* packed, int64_t first, int64_t last, void* stream) {
    if (first == last) return;
    with_cuda_float_type(dtype, [&](auto type) {
      using T = decltype(type);
      launch(transpose_kernel<float, T>, tiles.blocks(last - first), threads, stream, tiles,
             plain + first * stride, static_cast<T*>(packed) + first * stride);
    });
  };
  return {{.input = input,
           .form = fmt::format("krsc {}", name(dtype)),
           .bytes = static_cast<size_t>(shape.elements()) * size_of(dtype),
           .units = shape[0],
           .pack_units = pack}};
}

void krsc_to_plain(const Shape& shape, DType dtype, const void* krsc, float* plain, void* stream) {
  Extents e = extents_of(shape);
  Tiles tiles(e.pixels, e.channels, e.tile_pixels, e.tile_channels);
  with_cuda_float_type(dtype, [&](auto type) {
    auto* from = static_cast<const decltype(type)*>(krsc);
    if (same_order(shape)) return elementwise_cuda(stream, shape.elements(), plain, Same{}, from);
    launch(transpose_kernel<decltype(type), float>, tiles.blocks(shape[0]), threads, stream, tiles,
           from, plain);
  });
}

}  // namespace spire::inline kernels
