// A grid for CUDA kernels over rows of C channels, and two kinds of kernels on it: maps of every
// element, and sums over rows. A thread has fixed channels, loads their per-channel values once,
// and steps down the rows. For .cu files.
//
// A block has `lanes` threads along a row and takes `step` rows at a time. `tiles` blocks cover a
// row, and `chunks` chunks of chunk_rows rows cover all rows. These numbers, and so the order of
// sums, depend only on the shape.
#pragma once
#include <spire/tensor.h>

#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/elementwise.h"

namespace spire {

constexpr int channel_threads = 256;
// Most channels per thread: registers must hold their per-channel values and four rows in flight.
constexpr int channel_width = 4;

struct ChannelGrid {
  int64_t rows, channels;
  int width;  // channels per thread: channel_width, or 1 if packs would be unaligned
  int lanes, step;
  int64_t tiles, chunks, chunk_rows;

  // least_steps: steps that a thread gets at least, if there are enough rows. max_blocks: the
  // number of blocks is about this at most.
  ChannelGrid(int64_t row_count, int64_t channel_count, int64_t least_steps, int64_t max_blocks)
      : rows(row_count), channels(channel_count) {
    width = rows_take_packs<channel_width>(channels) ? channel_width : 1;
    // Along a row: the fewest tiles of at most a warp that cover it, equally wide.
    int64_t packs = channels / width;
    tiles = larger<int64_t>(1, (packs + warp_threads - 1) / warp_threads);
    lanes = static_cast<int>(larger<int64_t>(1, (packs + tiles - 1) / tiles));
    step = channel_threads / lanes;
    // Down the rows: chunks of whole steps.
    int64_t steps = (rows + step - 1) / step;
    int64_t most = larger<int64_t>(1, max_blocks / tiles);
    chunks = smaller(larger<int64_t>(steps / least_steps, 1), most);
    chunk_rows = larger<int64_t>(1, (steps + chunks - 1) / chunks) * step;
    chunks = larger<int64_t>(1, (rows + chunk_rows - 1) / chunk_rows);
  }

  unsigned blocks() const { return static_cast<unsigned>(tiles * chunks); }
};

inline ChannelGrid channel_grid(const Shape& shape, int64_t least_steps, int64_t max_blocks) {
  return {shape.elements() / shape.back(), shape.back(), least_steps, max_blocks};
}

// Returns the grid of a map: enough blocks to fill a large GPU a few times over.
inline ChannelGrid map_grid(const Shape& shape) {
  return channel_grid(shape, 4, 4096);
}

// A thread's part of a ChannelGrid: channels [channel, channel + width) of the rows first, first +
// step, ... < end. A thread that lies outside the tensor has no rows, and inside is false.
struct ChannelSlice {
  int64_t channel, chunk, first, end;
  int row;  // index among the `step` rows that the block takes at a time
  bool inside;
};

// from_end: the first blocks, which a GPU starts first, have the last rows: these are still in the
// L2 cache if the pass before began at the other end.
template <bool from_end = false>
__device__ inline ChannelSlice channel_slice(const ChannelGrid& g) {
  auto tiles = static_cast<unsigned>(g.tiles), lanes = static_cast<unsigned>(g.lanes);
  ChannelSlice slice;
  slice.chunk = blockIdx.x / tiles;
  if (from_end) slice.chunk = g.chunks - 1 - slice.chunk;
  slice.row = static_cast<int>(threadIdx.x / lanes);
  unsigned pack = blockIdx.x % tiles * lanes + threadIdx.x % lanes;
  slice.channel = int64_t{pack} * g.width;
  slice.inside = slice.row < g.step && slice.channel < g.channels;
  slice.end = (slice.chunk + 1) * g.chunk_rows;
  slice.end = slice.end < g.rows && slice.inside ? slice.end : slice.inside ? g.rows : 0;
  slice.first = slice.chunk * g.chunk_rows + slice.row;
  return slice;
}

// Adds up values over the block's rows, halving their number each time; the threads of row 0 get
// the sums. REQUIRES: every thread of the block calls it, and only once.
template <int N, int sums, typename V>
__device__ inline void add_block_rows(const ChannelGrid& g, int row, V (&values)[sums][N]) {
  __shared__ V partial[sums * N][channel_threads];
  for (int k = 0; k < sums; ++k)
    for (int i = 0; i < N; ++i) partial[k * N + i][threadIdx.x] = values[k][i];
  for (int left = g.step; left > 1;) {
    int half = (left + 1) / 2;
    __syncthreads();
    if (row < left - half) {
      for (int j = 0; j < sums * N; ++j)
        partial[j][threadIdx.x] += partial[j][threadIdx.x + static_cast<unsigned>(half * g.lanes)];
    }
    left = half;
  }
  for (int k = 0; k < sums; ++k)
    for (int i = 0; i < N; ++i) values[k][i] = partial[k * N + i][threadIdx.x];
}

// Stores the block's sums in the layout that add_chunks reads: (sums, channels, chunks).
template <int N, int sums, typename V>
__device__ inline void store_partial(const ChannelGrid& g, const ChannelSlice& slice,
                                     const V (&values)[sums][N], V* partial) {
  if (!slice.inside || slice.row != 0) return;
  for (int k = 0; k < sums; ++k)
    for (int i = 0; i < N; ++i)
      partial[(k * g.channels + slice.channel + i) * g.chunks + slice.chunk] = values[k][i];
}

// Computes totals[k] = sum over chunks of partial[(k * channels + c) * chunks + chunk] for each
// channel c, by one warp per channel, whose first thread then calls finish(c, totals).
template <int sums, typename V, typename Finish>
__global__ void __launch_bounds__(channel_threads)
    add_chunks_kernel(int64_t channels, int64_t chunks, const V* partial, Finish finish) {
  constexpr int warps = channel_threads / warp_threads;
  int64_t c = int64_t{blockIdx.x} * warps + threadIdx.x / warp_threads;
  if (c >= channels) return;
  V totals[sums] = {};
  for (int k = 0; k < sums; ++k) {
    const V* from = partial + (k * channels + c) * chunks;
    for (int64_t i = threadIdx.x % warp_threads; i < chunks; i += warp_threads)
      totals[k] += from[i];
    totals[k] = warp_reduce(totals[k], Sum{});
  }
  if (threadIdx.x % warp_threads == 0) finish(c, totals);
}

template <int sums, typename V, typename Finish>
void add_chunks(const ChannelGrid& g, void* stream, const V* partial, Finish finish) {
  launch(add_chunks_kernel<sums, V, Finish>, blocks_for(g.channels, channel_threads / warp_threads),
         channel_threads, stream, g.channels, g.chunks, partial, finish);
}

// The tensors that a map reads (no CUDA streams); each has the shape and dtype of the map's output.
template <typename T, int count>
struct Streams {
  const T* at[count];
};

// Writes out = f.value(f.channels<N>(c), i, in) for channel c + i: f.channels<N>(c) has the
// per-channel values of N channels from c on, `in` one value of each stream. `out` may be one of
// the streams: a thread writes only elements that it alone has read.
template <int N, typename T, int count, typename F>
__global__ void __launch_bounds__(channel_threads)
    map_channels_kernel(ChannelGrid g, Streams<T, count> streams, F f, T* out) {
  ChannelSlice slice = channel_slice<true>(g);
  if (slice.first >= slice.end) return;
  auto own = f.template channels<N>(slice.channel);
  // Four rows at a time: load all, then compute and store.
  in_batches<4>(slice.first, slice.end, g.step, [&](int64_t row, auto rows) {
    int64_t at = row * g.channels + slice.channel, stride = g.step * g.channels;
    Pack<T, N> in[rows()][count];
    for (int r = 0; r < rows(); ++r)
      for (int k = 0; k < count; ++k) in[r][k] = load_pack<N>(streams.at[k] + at + r * stride);
    for (int r = 0; r < rows(); ++r) {
      Pack<T, N> result;
      for (int i = 0; i < N; ++i) {
        float values[count];
        for (int k = 0; k < count; ++k) values[k] = static_cast<float>(in[r][k].at[i]);
        result.at[i] = T(f.value(own, i, values));
      }
      store_pack(result, out + at + r * stride);
    }
  });
}

template <typename T, int count, typename F>
void map_channels(const ChannelGrid& g, void* stream, Streams<T, count> streams, F f, T* out) {
  launch(g.width == channel_width ? map_channels_kernel<channel_width, T, count, F>
                                  : map_channels_kernel<1, T, count, F>,
         g.blocks(), channel_threads, stream, g, streams, f, out);
}

// Sums the columns of x over each chunk of rows. pitch: elements from one row of x to the next.
// out: (channels, chunks).
template <int N, typename T, typename Out>
__global__ void __launch_bounds__(channel_threads)
    column_sums_kernel(ChannelGrid g, int64_t pitch, const T* __restrict__ x,
                       Out* __restrict__ out) {
  ChannelSlice slice = channel_slice(g);
  float sum[1][N] = {};
  in_batches<4>(slice.first, slice.end, g.step, [&](int64_t row, auto rows) {
    const T* from = x + row * pitch + slice.channel;
    Pack<T, N> packs[rows()];
    for (int r = 0; r < rows(); ++r) packs[r] = load_pack<N>(from + r * g.step * pitch);
    for (int r = 0; r < rows(); ++r)
      for (int i = 0; i < N; ++i) sum[0][i] += static_cast<float>(packs[r].at[i]);
  });
  add_block_rows(g, slice.row, sum);
  if (!slice.inside || slice.row != 0) return;
  for (int i = 0; i < N; ++i) out[(slice.channel + i) * g.chunks + slice.chunk] = Out(sum[0][i]);
}

template <typename Out>
struct StoreSum {
  Out* out;
  __device__ void operator()(int64_t c, const float* totals) const { out[c] = Out(totals[0]); }
};

// Sums of columns: out[c] = sum over rows of x[row, c], x (rows, columns), in fp32. A block adds up
// a chunk of rows; if there are several chunks, a second kernel adds up their sums. pitch: of x, as
// above.
template <typename T, typename Out>
class ColumnSums {
 public:
  ColumnSums(int64_t rows, int64_t columns, int64_t pitch)
      : grid_(rows, columns, 4, 1024), pitch_(pitch) {}

  // Partial sums (columns, chunks) in fp32, if there are several chunks.
  size_t workspace_bytes() const {
    if (grid_.chunks == 1) return 0;
    return static_cast<size_t>(grid_.chunks * grid_.channels) * sizeof(float);
  }

  void run(void* stream, const T* x, void* workspace, Out* out) const {
    if (grid_.chunks == 1) return sum_chunks(stream, x, out);
    auto partial = static_cast<float*>(workspace);
    sum_chunks(stream, x, partial);
    add_chunks<1>(grid_, stream, static_cast<const float*>(partial), StoreSum<Out>{out});
  }

 private:
  template <typename To>
  void sum_chunks(void* stream, const T* x, To* to) const {
    launch(grid_.width == channel_width ? column_sums_kernel<channel_width, T, To>
                                        : column_sums_kernel<1, T, To>,
           grid_.blocks(), channel_threads, stream, grid_, pitch_, x, to);
  }

  ChannelGrid grid_;
  int64_t pitch_;
};

}  // namespace spire
