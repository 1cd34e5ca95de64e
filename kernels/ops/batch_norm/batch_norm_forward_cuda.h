// The two passes of batch normalization's forward on GPUs: one over x for the moments, one that
// normalizes; and the statistics in between. For .cu files.
#pragma once
#include "kernels/cuda/channel_grid.h"
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/batch_norm/batch_norm_formulas.h"

namespace spire::inline kernels {

// The grid of the passes that sum: so few chunks that a warp adds up a channel's in 32 steps.
inline ChannelGrid sums_grid(const Shape& shape) {
  return channel_grid(shape, 4, 1024);
}

// Rows of a thread whose terms are summed in fp32; from there on sums are fp64.
constexpr int group_rows = 16;

// Partial sums of x and x^2, as add_chunks takes them. A thread sums d = x - pivot and d^2 of a
// group of rows. The pivot is the mean of the group before, and the first one that of four rows:
// sum d^2 exceeds the channel's own sum of squared deviations by a small factor at most, and fp32
// loses nothing to a large mean.
template <int N, typename T>
__global__ void __launch_bounds__(channel_threads)
    moments_kernel(ChannelGrid g, const T* __restrict__ x, double* __restrict__ partial) {
  ChannelPlace place = channel_place(g);
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

// finish(c, {sum x, sum x^2}) for each channel. partial: (2, C, chunks).
template <typename T, typename Finish>
void sum_moments(const ChannelGrid& g, void* stream, const T* x, double* partial, Finish finish) {
  launch(g.width == channel_width ? moments_kernel<channel_width, T> : moments_kernel<1, T>,
         g.blocks(), channel_threads, stream, g, x, partial);
  add_chunks<2>(g, stream, static_cast<const double*>(partial), finish);
}

inline size_t partial_bytes(const ChannelGrid& g) {
  return static_cast<size_t>(2 * g.channels * g.chunks) * sizeof(double);
}

// Outputs 1 to 4 of BatchNormOp from a channel's moments over `rows` rows.
struct WriteStatistics {
  const StepContext* step;
  float epsilon;
  float *mean, *inv_std, *stat_mean, *stat_var;

  __device__ void write(int64_t c, double sum, double squares, double rows) const {
    auto s = channel_statistics(sum, squares, rows, epsilon, step->tower_weight);
    mean[c] = s.mean;
    inv_std[c] = s.inv_std;
    stat_mean[c] = s.stat_mean;
    stat_var[c] = s.stat_var;
  }
};

inline WriteStatistics write_statistics(const KernelArgs& args, float epsilon) {
  auto statistic = [&](size_t k) { return static_cast<float*>(args.outputs[k]); };
  return {args.step, epsilon, statistic(1), statistic(2), statistic(3), statistic(4)};
}

// y before residual and relu, for a thread's channels. The backward's mask is computed by the same
// expression.
template <int N>
struct AffineChannels {
  Pack<float, N> center, scale, shift;
  __device__ float operator()(int i, float x) const {
    return (x - center.at[i]) * scale.at[i] + shift.at[i];
  }
};

// gamma inv_std, in training.
struct ScaleByInvStd {
  const float* inv_std;
  __device__ float operator()(int64_t c, float gamma) const { return gamma * inv_std[c]; }
};

// In evaluation.
struct ScaleByVariance {
  const float* var;
  float epsilon;
  __device__ float operator()(int64_t c, float gamma) const {
    return gamma / sqrtf(var[c] + epsilon);
  }
};

template <typename Scale>
struct AffineVectors {
  const float *gamma, *beta, *mean;
  Scale scale;

  template <int N>
  __device__ AffineChannels<N> channels(int64_t c) const {
    AffineChannels<N> own{load_pack<N>(mean + c), load_pack<N>(gamma + c), load_pack<N>(beta + c)};
    for (int i = 0; i < N; ++i) own.scale.at[i] = scale(c + i, own.scale.at[i]);
    return own;
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

// y = the affine map of x [+ addend] [through relu]; y may be x or the addend.
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

}  // namespace spire::inline kernels
