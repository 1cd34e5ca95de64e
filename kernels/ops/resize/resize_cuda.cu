// Resize on a GPU, forward and backward alike, in two kernels: the first fills tables of both axes'
// taps in the workspace, the second gathers by them, a pack of channels of a pixel a thread. Sums
// are fp32, in ascending order of taps.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/resize/resize.h"

namespace spire {

namespace {

// First source of a position, and the number of sources.
struct TapSpan {
  int32_t first, count;
};

// Taps of one axis, in the workspace: `positions` spans, and `most` weights for each position.
struct TapTable {
  ResizeAxis axis;
  bool backward;
  int64_t positions, most;
  TapSpan* spans = nullptr;
  float* weights = nullptr;

  // Returns the sources of position i; some between them may have weight 0.
  SPIRE_HOST_DEVICE TapSpan span(int64_t i) const {
    if (!backward) {
      auto taps = axis.taps(i);
      return {static_cast<int32_t>(taps.at[0].source), taps.count};
    }
    // Outputs whose first tap is the source or, bilinear, the one before it.
    int64_t reach = axis.kind == Resize::nearest ? 0 : 1;
    int64_t first = axis.first_from(i - reach), end = axis.first_from(i + 1);
    return {static_cast<int32_t>(first), static_cast<int32_t>(end - first)};
  }

  // Returns the weight of source `in` in position i. Tap indices are constants, so that taps stay
  // in registers.
  __device__ float weight(int64_t i, int64_t in) const {
    auto taps = axis.taps(backward ? in : i);
    int64_t source = backward ? i : in;
    if (taps.at[0].source == source) return taps.at[0].weight;
    if (taps.count > 1 && taps.at[1].source == source) return taps.at[1].weight;
    return 0;
  }
};

// Backward, the positions are those of x and the sources those of y.
TapTable table_of(const ResizeAxis& axis, bool backward) {
  TapTable table{axis, backward, backward ? axis.from : axis.to, 1};
  for (int64_t i = 0; i < table.positions; ++i)
    table.most = larger<int64_t>(table.most, table.span(i).count);
  return table;
}

size_t bytes_of(const TapTable& table) {
  return static_cast<size_t>(table.positions) *
         (sizeof(TapSpan) + static_cast<size_t>(table.most) * sizeof(float));
}

TapTable placed(TapTable table, std::byte* at) {
  table.spans = reinterpret_cast<TapSpan*>(at);
  table.weights = reinterpret_cast<float*>(table.spans + table.positions);
  return table;
}

struct TapTables {
  TapTable rows, columns;
};

__device__ void fill(const TapTable& table, int64_t i) {
  if (i >= table.positions) return;
  TapSpan span = table.span(i);
  table.spans[i] = span;
  for (int32_t k = 0; k < span.count; ++k)
    table.weights[i * table.most + k] = table.weight(i, span.first + k);
}

__global__ void __launch_bounds__(block_threads) resize_tables_kernel(TapTables tables) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < tables.rows.positions) {
    fill(tables.rows, i);
  } else {
    fill(tables.columns, i - tables.rows.positions);
  }
}

template <int N, typename T>
__global__ void __launch_bounds__(pixel_threads)
    resize_kernel(PixelGrid grid, TapTables t, int64_t height, int64_t width, int64_t channels,
                  const T* in, T* out) {
  if (!grid.has(pixel_thread())) return;
  Pixel pixel = grid.pixel(pixel_thread());
  TapSpan rows = t.rows.spans[pixel.row], columns = t.columns.spans[pixel.column];
  const float* row_weights = t.rows.weights + pixel.row * t.rows.most;
  const float* column_weights = t.columns.weights + pixel.column * t.columns.most;
  in += (pixel.sample * height + rows.first) * width * channels + columns.first * channels +
        pixel.channel;
  float sum[N] = {};
  for (int32_t r = 0; r < rows.count; ++r) {
    for (int32_t c = 0; c < columns.count; ++c) {
      float weight = row_weights[r] * column_weights[c];
      if (weight == 0) continue;  // not a tap: a NaN there must not count
      auto pack = load_pack<N>(in + (r * width + c) * channels);
      for (int k = 0; k < N; ++k) sum[k] += weight * static_cast<float>(pack.at[k]);
    }
  }
  Pack<T, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = T(sum[k]);
  store_pack(result, out + pixel.at);
}

// x, y: what the forward resizes from and to. Workspace: the tables of rows and columns.
Kernel make_resize_cuda(Resize kind, const Shape& x, const Shape& y, bool backward,
                        const KernelRequest& request) {
  TapTables given{table_of({kind, x[1], y[1]}, backward), table_of({kind, x[2], y[2]}, backward)};
  const Shape &from = request.inputs[0].shape, &to = request.outputs[0].shape;
  return with_packs(request.inputs[0].dtype, to[3], [&]<typename T>(T, auto pack) {
    constexpr int N = pack();
    auto run = [given, grid = PixelGrid(to, N), height = from[1], width = from[2],
                channels = from[3]](const KernelArgs& args) {
      auto memory = args.scratch<std::byte>();
      TapTables tables{placed(given.rows, memory),
                       placed(given.columns, memory + bytes_of(given.rows))};
      launch(resize_tables_kernel,
             blocks_for(tables.rows.positions + tables.columns.positions, block_threads),
             block_threads, args.stream, tables);
      launch(resize_kernel<N, T>, grid.blocks(), pixel_threads, args.stream, grid, tables, height,
             width, channels, args.in<T>(0), args.out<T>(0));
    };
    return Kernel(run, bytes_of(given.rows) + bytes_of(given.columns));
  });
}

}  // namespace

template <>
Kernel make_cuda(const ResizeOp& op, const KernelRequest& request) {
  return make_resize_cuda(op.attributes().kind, request.inputs[0].shape, request.outputs[0].shape,
                          false, request);
}

template <>
Kernel make_cuda(const ResizeBackwardOp& op, const KernelRequest& request) {
  return make_resize_cuda(op.attributes().kind, request.outputs[0].shape, request.inputs[0].shape,
                          true, request);
}

}  // namespace spire
