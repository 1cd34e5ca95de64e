// Batch normalization forward on a GPU: one kernel sums the moments of chunks of rows, a small one
// adds up the chunks and makes the statistics, one normalizes. With `sync` the sum over towers
// comes between. Evaluation is the last kernel, with the running statistics.
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm_cuda.h"

namespace spire {

namespace {

// Partial sums of x and x^2, in the layout of add_chunks. A thread sums d = x - pivot and d^2 of a
// group of rows in fp32. The pivot is the mean of the group before, at first that of four rows: so
// sum d^2 exceeds the channel's own sum of squared deviations by a small factor at most, and fp32
// loses nothing to a large mean. With n rows and pivot p:
//   sum x = sum d + n p    sum x^2 = sum d^2 + 2 p sum d + n p^2
template <int N, typename T>
__global__ void __launch_bounds__(channel_threads)
    moments_kernel(ChannelGrid g, const T* __restrict__ x, double* __restrict__ partial) {
  ChannelSlice place = channel_slice(g);
  // visit(i, value) for the thread's channels in rows [row, end).
  auto over_rows = [&](int64_t row, int64_t end, auto visit) {
    in_batches<4>(row, end, g.step, [&](int64_t first, auto rows) {
      const T* from = x + first * g.channels + place.channel;
      Pack<T, N> packs[rows()];
      for (int r = 0; r < rows(); ++r) packs[r] = load_pack<N>(from + r * g.step * g.channels);
      for (int r = 0; r < rows(); ++r)
        for (int i = 0; i < N; ++i) visit(i, static_cast<float>(packs[r].at[i]));
    });
  };
  auto end_of = [&](int64_t row, int rows) {
    int64_t end = row + rows * int64_t{g.step};
    return end < place.end ? end : place.end;
  };
  auto count_of = [&](int64_t row, int64_t end) {
    return static_cast<int>(end - row + g.step - 1) / g.step;
  };

  double sums[2][N] = {};
  float pivot[N] = {};
  int64_t row = place.first, end = end_of(row, 4);
  if (row < end) {
    over_rows(row, end, [&](int i, float value) { pivot[i] += value; });
    for (int i = 0; i < N; ++i) pivot[i] /= static_cast<float>(count_of(row, end));
  }
  for (; row < place.end; row = end) {
    end = end_of(row, group_rows);
    float first[N] = {}, second[N] = {};
    over_rows(row, end, [&](int i, float value) {
      float d = value - pivot[i];
      first[i] += d;
      second[i] += d * d;
    });
    int count = count_of(row, end);
    for (int i = 0; i < N; ++i) {
      double n = count, p = static_cast<double>(pivot[i]), d = static_cast<double>(first[i]);
      sums[0][i] += d + n * p;
      sums[1][i] += static_cast<double>(second[i]) + 2 * p * d + n * p * p;
      pivot[i] += first[i] / static_cast<float>(count);
    }
  }
  add_block_rows(g, place.row, sums);
  store_partial(g, place, sums, partial);
}

// Calls finish(c, {sum x, sum x^2}) for each channel. partial: (2, C, chunks).
template <typename T, typename Finish>
void sum_moments(const ChannelGrid& g, void* stream, const T* x, double* partial, Finish finish) {
  launch(g.width == channel_width ? moments_kernel<channel_width, T> : moments_kernel<1, T>,
         g.blocks(), channel_threads, stream, g, x, partial);
  add_chunks<2>(g, stream, static_cast<const double*>(partial), finish);
}

// Outputs 1 to 4 of BatchNormOp from a channel's moments over `rows` rows.
struct WriteStatistics {
  const StepContext* step;
  float epsilon;
  const float* running_var;
  float *mean, *inv_std, *stat_mean, *stat_var;

  __device__ void write(int64_t c, double sum, double squares, double rows) const {
    auto s = channel_statistics(sum, squares, rows, epsilon, step->tower_weight, running_var[c]);
    mean[c] = s.mean;
    inv_std[c] = s.inv_std;
    stat_mean[c] = s.stat_mean;
    stat_var[c] = s.stat_var;
  }
};

inline WriteStatistics write_statistics(const KernelArgs& args, float epsilon) {
  auto statistic = [&](size_t k) { return args.out<float>(k); };
  return {args.step,    epsilon,      args.in<float>(3), statistic(1),
          statistic(2), statistic(3), statistic(4)};
}

// Scale in evaluation: gamma / sqrt(running variance + epsilon).
struct ScaleByVariance {
  const float* var;
  float epsilon;
  __device__ float operator()(int64_t c, float gamma) const {
    return gamma / sqrtf(var[c] + epsilon);
  }
};

template <typename Scale, bool relu, bool residual>
struct Normalize : AffineVectors<Scale> {
  template <int N>
  __device__ float value(const AffineChannels<N>& own, int i, const float* in) const {
    float value = own(i, in[0]);
    if (residual) value += in[1];
    return relu && value < 0 ? 0.0f : value;
  }
};

// y = affine(x) [+ addend] [through relu]; y may be x or the addend.
template <typename Scale, typename T>
void normalize(const ChannelGrid& g, void* stream, const BatchNormAttributes& attributes,
               const AffineVectors<Scale>& vectors, const void* x, const void* addend, void* y) {
  auto from = static_cast<const T*>(x), more = static_cast<const T*>(addend);
  auto to = static_cast<T*>(y);
  Streams<T, 1> one{{from}};
  Streams<T, 2> two{{from, more}};
  if (attributes.residual && attributes.relu)
    return map_channels(g, stream, two, Normalize<Scale, true, true>{vectors}, to);
  if (attributes.residual)
    return map_channels(g, stream, two, Normalize<Scale, false, true>{vectors}, to);
  if (attributes.relu)
    return map_channels(g, stream, one, Normalize<Scale, true, false>{vectors}, to);
  map_channels(g, stream, one, Normalize<Scale, false, false>{vectors}, to);
}

struct FinishStatistics : WriteStatistics {
  double rows;
  __device__ void operator()(int64_t c, const double* totals) const {
    write(c, totals[0], totals[1], rows);
  }
};

// dx = gamma / sqrt(running variance + epsilon) g, as map_channels takes it.
struct ScaleGradient {
  const float* gamma;
  ScaleByVariance scale;

  template <int N>
  __device__ Pack<float, N> channels(int64_t c) const {
    auto own = load_pack<N>(gamma + c);
    for (int i = 0; i < N; ++i) own.at[i] = scale(c + i, own.at[i]);
    return own;
  }
  template <int N>
  __device__ float value(const Pack<float, N>& own, int i, const float* in) const {
    return own.at[i] * in[0];
  }
};

struct FinishMoments {
  int64_t channels, rows;
  double* sums;

  __device__ void operator()(int64_t c, const double* totals) const {
    sums[c] = totals[0];
    sums[channels + c] = totals[1];
    if (c == 0) sums[2 * channels] = static_cast<double>(rows);
  }
};

__global__ void __launch_bounds__(channel_threads)
    statistics_kernel(int64_t channels, const double* sums, WriteStatistics statistics) {
  int64_t c = int64_t{blockIdx.x} * channel_threads + threadIdx.x;
  if (c < channels) statistics.write(c, sums[c], sums[channels + c], sums[2 * channels]);
}

}  // namespace

template <>
Kernel make_cuda(const BatchNormOp& op, const KernelRequest& request) {
  ChannelGrid sums = sums_grid(request.inputs[0].shape), map = map_grid(request.inputs[0].shape);
  size_t bytes = op.attributes().sync ? 0 : partial_bytes(sums);
  auto a = op.attributes();
  auto residual = static_cast<size_t>(op.residual_input());
  return cuda_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    WriteStatistics statistics = write_statistics(args, a.epsilon);
    if (a.sync)
      launch(statistics_kernel, blocks_for(map.channels, channel_threads), channel_threads,
             args.stream, map.channels, args.in<double>(4), statistics);
    else
      sum_moments(sums, args.stream, args.in<T>(0), args.scratch<double>(),
                  FinishStatistics{statistics, static_cast<double>(sums.rows)});
    AffineVectors<ScaleByInvStd> vectors{
        args.in<float>(1), args.in<float>(2), statistics.mean, {statistics.inv_std}};
    normalize<ScaleByInvStd, T>(map, args.stream, a, vectors, args.inputs[0],
                                a.residual ? args.inputs[residual] : nullptr, args.outputs[0]);
  });
}

template <>
Kernel make_cuda(const BatchNormEvalOp& op, const KernelRequest& request) {
  auto map = map_grid(request.inputs[0].shape);
  auto a = op.attributes();
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    AffineVectors<ScaleByVariance> vectors{
        args.in<float>(1), args.in<float>(2), args.in<float>(3), {args.in<float>(4), a.epsilon}};
    normalize<ScaleByVariance, T>(map, args.stream, a, vectors, args.inputs[0],
                                  a.residual ? args.inputs[5] : nullptr, args.outputs[0]);
  });
}

template <>
Kernel make_cuda(const BatchNormEvalBackwardOp& op, const KernelRequest& request) {
  auto map = map_grid(request.inputs[0].shape);
  float epsilon = op.attributes().epsilon;
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    map_channels(map, args.stream, Streams<T, 1>{{args.in<T>(0)}},
                 ScaleGradient{args.in<float>(1), {args.in<float>(2), epsilon}}, args.out<T>(0));
  });
}

template <>
Kernel make_cuda(const BatchNormMomentsOp&, const KernelRequest& request) {
  ChannelGrid grid = sums_grid(request.inputs[0].shape);
  return cuda_kernel(request, partial_bytes(grid), [grid]<typename T>(T, const KernelArgs& args) {
    sum_moments(grid, args.stream, args.in<T>(0), args.scratch<double>(),
                FinishMoments{grid.channels, grid.rows, args.out<double>(0)});
  });
}

}  // namespace spire
