// Transpose on a GPU. Where rows of y are contiguous in x too, or one of the two inner axes is
// short, a thread fetches a word of y. Else tiles of 32 x 32 go through shared memory, so that both
// sides are read and written by whole cache lines.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"
#include "kernels/cuda/vector_copy.h"
#include "kernels/kernel.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire {

namespace {

constexpr int transpose_tile = 32;

struct DeviceAxes {
  int count = 0;
  Divider lengths[Shape::max_rank];
  int64_t to[Shape::max_rank], from[Shape::max_rank];

  void add(const TransposeAxis& axis) {
    lengths[count] = Divider(axis.length);
    to[count] = axis.to;
    from[count++] = axis.from;
  }
};

struct ElementOffsets {
  int64_t to = 0, from = 0;
};

// Returns the offsets of the i-th combination of indices, the first axis fastest.
__device__ ElementOffsets offsets_of(const DeviceAxes& axes, int64_t i) {
  ElementOffsets sum;
  for (int axis = 0; axis < axes.count; ++axis) {
    auto [left, index] = axes.lengths[axis].divide(i);
    sum.to += index * axes.to[axis];
    sum.from += index * axes.from[axis];
    i = left;
  }
  return sum;
}

// Writes y's words one after another, each from its offset in x.
template <typename Word>
__global__ void __launch_bounds__(block_threads)
    transpose_fetch_kernel(DeviceAxes axes, int64_t n, const Word* x, Word* y) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) y[i] = x[offsets_of(axes, i).from];
}

// A tile of y's inner axis (row, contiguous in y) by the one that is contiguous in x (column).
struct TransposeTiles {
  TransposeAxis row, column;
  Divider row_tiles, column_tiles;
  DeviceAxes outer;
};

template <typename Word>
__global__ void __launch_bounds__(block_threads)
    transpose_tile_kernel(TransposeTiles t, const Word* x, Word* y) {
  __shared__ Word held[transpose_tile][transpose_tile + 1];
  auto [rest, row_tile] = t.row_tiles.divide(blockIdx.x);
  auto [outer, column_tile] = t.column_tiles.divide(rest);
  ElementOffsets at = offsets_of(t.outer, outer);
  int64_t row = row_tile * transpose_tile, column = column_tile * transpose_tile;
  x += at.from + row * t.row.from + column;
  y += at.to + column * t.column.to + row;
  int64_t rows = t.row.length - row, columns = t.column.length - column;  // that are left
  unsigned lane = threadIdx.x % warp_threads;
  for (unsigned k = threadIdx.x / warp_threads; k < transpose_tile;
       k += block_threads / warp_threads)
    if (k < rows && lane < columns) held[k][lane] = x[k * t.row.from + lane];
  __syncthreads();
  for (unsigned k = threadIdx.x / warp_threads; k < transpose_tile;
       k += block_threads / warp_threads)
    if (k < columns && lane < rows) y[k * t.column.to + lane] = held[lane][k];
}

// axes: in words.
template <typename Word>
Kernel transpose_by_fetches(const std::vector<TransposeAxis>& axes) {
  DeviceAxes on_device;
  int64_t n = 1;
  for (const TransposeAxis& axis : axes) {
    on_device.add(axis);
    n *= axis.length;
  }
  return [=](const KernelArgs& args) {
    launch(transpose_fetch_kernel<Word>, blocks_for(n, block_threads), block_threads, args.stream,
           on_device, n, args.in<Word>(0), args.out<Word>(0));
  };
}

// One of the axes is contiguous in x.
std::vector<TransposeAxis>::const_iterator contiguous_axis(const std::vector<TransposeAxis>& axes) {
  auto axis = axes.begin();
  while (axis->from != 1) ++axis;
  return axis;
}

// One of the axes has from = 1, and is not the first.
template <typename Word>
Kernel transpose_by_tiles(std::vector<TransposeAxis> axes) {
  TransposeTiles tiles;
  tiles.row = axes.front();
  axes.erase(axes.begin());
  auto contiguous = contiguous_axis(axes);
  tiles.column = *contiguous;
  axes.erase(contiguous);
  tiles.row_tiles = Divider((tiles.row.length + transpose_tile - 1) / transpose_tile);
  tiles.column_tiles = Divider((tiles.column.length + transpose_tile - 1) / transpose_tile);
  int64_t blocks = tiles.row_tiles.divisor() * tiles.column_tiles.divisor();
  for (const TransposeAxis& axis : axes) {
    tiles.outer.add(axis);
    blocks *= axis.length;
  }
  return [=](const KernelArgs& args) {
    launch(transpose_tile_kernel<Word>, static_cast<unsigned>(blocks), block_threads, args.stream,
           tiles, args.in<Word>(0), args.out<Word>(0));
  };
}

// Rewrites axes in words of several elements; the first, contiguous in x and y, gets shorter.
// Returns the elements of a word.
int64_t widen(std::vector<TransposeAxis>& axes, int64_t element) {
  int64_t bytes = word_of(axes[0].length * element);
  for (size_t i = 1; i < axes.size(); ++i) bytes = word_of(bytes, axes[i].from * element);
  int64_t elements = bytes / element;
  axes[0].length /= elements;
  for (size_t i = 1; i < axes.size(); ++i) {
    axes[i].to /= elements;
    axes[i].from /= elements;
  }
  return elements;
}

bool takes_tiles(const std::vector<TransposeAxis>& axes) {
  constexpr int64_t shortest = 8;  // of a tile's 32: below, most of a warp would idle
  auto contiguous = contiguous_axis(axes);
  return axes[0].from != 1 && axes[0].length >= shortest && contiguous->length >= shortest;
}

}  // namespace

template <>
Kernel make_cuda(const TransposeOp& op, const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  if (x.shape.elements() == 0) return [](const KernelArgs&) {};
  auto axes = merged_axes(op, x.shape, y.shape);
  auto bytes = static_cast<int64_t>(size_of(x.dtype));
  if (axes[0].from == 1) bytes *= widen(axes, bytes);
  return with_word(bytes, [&]<typename Word>(Word) {
    return takes_tiles(axes) ? transpose_by_tiles<Word>(axes) : transpose_by_fetches<Word>(axes);
  });
}

}  // namespace spire
