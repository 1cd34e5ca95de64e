// Sums of columns: out[c] = sum over rows of x[row, c], in fp32, in an order that the shape alone
// fixes. A block adds up a chunk of rows; if there are several chunks, a second kernel adds them
// up. For .cu files.
#pragma once
#include "kernels/cuda/channel_grid.h"

namespace spire::inline kernels {

// pitch: elements from one row of x to the next. out: (channels), or (channels, chunks) if there
// are several.
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

template <typename T, typename Out>
class ColumnSums {  // of x (rows, columns)
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

}  // namespace spire::inline kernels
