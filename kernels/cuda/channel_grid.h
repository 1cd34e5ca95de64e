// Rows of C channels spread over CUDA blocks: what kernels share that map rows channel by channel,
// or sum over rows. A thread keeps to its channels, so that what belongs to a channel is loaded
// once, and steps down the rows. For .cu files.
//
// A block has `lanes` threads side by side along a row and takes `step` rows at a time; `tiles`
// blocks cover a row, and `chunks` of rows all rows. The shape alone decides, and so the order of
// sums.
#pragma once
#include "engine/base/shape.h"
#include "engine/device/cuda_block.h"
#include "engine/device/cuda_launch.h"
#include "engine/device/cuda_pack.h"
#include "kernels/cuda/batches.h"

namespace spire::inline kernels {

constexpr int channel_threads = 256;
// Channels of a thread: narrower than 16 bytes of a 16-bit type, to leave registers for what a
// channel has, and four rows at a time in flight.
constexpr int channel_width = 4;

struct ChannelGrid {
  int64_t rows, channels;
  int width;  // channels of a thread: channel_width, or 1 where rows do not take packs
  int lanes, step;
  int64_t tiles, chunks, chunk_rows;

  // At least `least_steps` steps a thread, and about `max_blocks` blocks.
  ChannelGrid(int64_t row_count, int64_t channel_count, int64_t least_steps, int64_t max_blocks)
      : rows(row_count), channels(channel_count) {
    width = rows_take_packs<channel_width>(channels) ? channel_width : 1;
    int64_t packs = channels / width;
    tiles = std::max<int64_t>(1, (packs + warp_threads - 1) / warp_threads);
    lanes = static_cast<int>(std::max<int64_t>(1, (packs + tiles - 1) / tiles));
    step = channel_threads / lanes;
    int64_t steps = (rows + step - 1) / step;
    int64_t most = std::max<int64_t>(1, max_blocks / tiles);
    chunks = std::clamp<int64_t>(steps / least_steps, 1, most);
    chunk_rows = std::max<int64_t>(1, (steps + chunks - 1) / chunks) * step;
    chunks = std::max<int64_t>(1, (rows + chunk_rows - 1) / chunk_rows);
  }

  unsigned blocks() const { return static_cast<unsigned>(tiles * chunks); }
};

inline ChannelGrid channel_grid(const Shape& shape, int64_t least_steps, int64_t max_blocks) {
  return {shape.elements() / shape.back(), shape.back(), least_steps, max_blocks};
}

// The grid of a map: enough blocks to fill a large GPU a few times over.
inline ChannelGrid map_grid(const Shape& shape) {
  return channel_grid(shape, 4, 4096);
}

// What a thread of a ChannelGrid does: channels [channel, channel + width) of rows first,
// first + step, ... below end; no rows where the block is wider than what is left.
struct ChannelPlace {
  int64_t channel, chunk, first, end;
  int row;  // of the rows that the block takes at a time
  bool inside;
};

__device__ inline ChannelPlace channel_place(const ChannelGrid& g) {
  auto tiles = static_cast<unsigned>(g.tiles), lanes = static_cast<unsigned>(g.lanes);
  ChannelPlace place;
  place.chunk = blockIdx.x / tiles;
  place.row = static_cast<int>(threadIdx.x / lanes);
  unsigned pack = blockIdx.x % tiles * lanes + threadIdx.x % lanes;
  place.channel = int64_t{pack} * g.width;
  place.inside = place.row < g.step && place.channel < g.channels;
  place.end = (place.chunk + 1) * g.chunk_rows;
  place.end = place.end < g.rows && place.inside ? place.end : place.inside ? g.rows : 0;
  place.first = place.chunk * g.chunk_rows + place.row;
  return place;
}

// Adds up the values of the block's rows: those of the first row become the sums. REQUIRES: every
// thread of the block calls, once.
template <int N, int sums, typename V>
__device__ inline void add_block_rows(const ChannelGrid& g, int row, V (&values)[sums][N]) {
  __shared__ V held[sums * N][channel_threads];
  for (int k = 0; k < sums; ++k)
    for (int i = 0; i < N; ++i) held[k * N + i][threadIdx.x] = values[k][i];
  for (int left = g.step; left > 1;) {
    int half = (left + 1) / 2;
    __syncthreads();
    if (row < left - half) {
      for (int j = 0; j < sums * N; ++j)
        held[j][threadIdx.x] += held[j][threadIdx.x + static_cast<unsigned>(half * g.lanes)];
    }
    left = half;
  }
  for (int k = 0; k < sums; ++k)
    for (int i = 0; i < N; ++i) values[k][i] = held[k * N + i][threadIdx.x];
}

// Writes the block's sums where add_chunks looks for them.
template <int N, int sums, typename V>
__device__ inline void store_partial(const ChannelGrid& g, const ChannelPlace& place,
                                     const V (&values)[sums][N], V* partial) {
  if (!place.inside || place.row != 0) return;
  for (int k = 0; k < sums; ++k)
    for (int i = 0; i < N; ++i)
      partial[(k * g.channels + place.channel + i) * g.chunks + place.chunk] = values[k][i];
}

// finish(c, totals) for each channel, by one thread, where totals[k] is the sum over chunks of
// partial[(k * channels + c) * chunks + chunk]. A warp adds up a channel.
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

// The tensors that a map reads, all like its output.
template <typename T, int count>
struct Streams {
  const T* at[count];
};

// out = f.value(f.channels<N>(c), i, in): of channel c + i, `in` one value of each stream. `out`
// may be one of the streams: a thread writes what it alone has read.
template <int N, typename T, int count, typename F>
__global__ void __launch_bounds__(channel_threads)
    map_channels_kernel(ChannelGrid g, Streams<T, count> streams, F f, T* out) {
  ChannelPlace place = channel_place(g);
  if (place.first >= place.end) return;
  auto own = f.template channels<N>(place.channel);
  in_batches<4>(place.first, place.end, g.step, [&](int64_t row, auto rows) {
    int64_t at = row * g.channels + place.channel, stride = g.step * g.channels;
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

}  // namespace spire::inline kernels
