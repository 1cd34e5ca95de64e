// Batch normalization forward on a GPU: one kernel sums the moments of chunks of rows, a small one
// adds up the chunks and makes the statistics, one normalizes. The sync op runs the same kernels
// with the sum over towers between them. Evaluation is the last kernel, with the running
// statistics.
#include "kernels/ops/batch_norm/batch_norm_cuda.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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

// running: the input that is running_var.
inline WriteStatistics write_statistics(const KernelArgs& args, float epsilon, size_t running) {
  auto statistic = [&](size_t k) { return static_cast<float*>(args.outputs[k]); };
  auto running_var = static_cast<const float*>(args.inputs[running]);
  return {args.step, epsilon, running_var, statistic(1), statistic(2), statistic(3), statistic(4)};
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

template <typename T>
class BatchNormCudaKernel : public Kernel {
 public:
  BatchNormCudaKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        sums_(sums_grid(request.inputs[0].shape)),
        map_(map_grid(request.inputs[0].shape)) {}

  size_t workspace_bytes() const override { return partial_bytes(sums_); }

  void run(const KernelArgs& args) override {
    WriteStatistics statistics = write_statistics(args, attributes_.epsilon, 3);
    sum_moments(sums_, args.stream, static_cast<const T*>(args.inputs[0]),
                static_cast<double*>(args.workspace),
                FinishStatistics{statistics, static_cast<double>(sums_.rows)});
    AffineVectors<ScaleByInvStd> vectors{static_cast<const float*>(args.inputs[1]),
                                         static_cast<const float*>(args.inputs[2]),
                                         statistics.mean,
                                         {statistics.inv_std}};
    normalize<ScaleByInvStd, T>(map_, args.stream, attributes_, vectors, args.inputs[0],
                                attributes_.residual ? args.inputs[4] : nullptr, args.outputs[0]);
  }

 private:
  BatchNormAttributes attributes_;
  ChannelGrid sums_, map_;
};

template <typename T>
class BatchNormEvalCudaKernel : public Kernel {
 public:
  BatchNormEvalCudaKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes), map_(map_grid(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    auto vector = [&](size_t k) { return static_cast<const float*>(args.inputs[k]); };
    AffineVectors<ScaleByVariance> vectors{
        vector(1), vector(2), vector(3), {vector(4), attributes_.epsilon}};
    normalize<ScaleByVariance, T>(map_, args.stream, attributes_, vectors, args.inputs[0],
                                  attributes_.residual ? args.inputs[5] : nullptr, args.outputs[0]);
  }

 private:
  BatchNormAttributes attributes_;
  ChannelGrid map_;
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

template <typename T>
class BatchNormEvalBackwardCudaKernel : public Kernel {
 public:
  BatchNormEvalBackwardCudaKernel(const BatchNormAttributes& attributes,
                                  const KernelRequest& request)
      : epsilon_(attributes.epsilon), map_(map_grid(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    auto vector = [&](size_t k) { return static_cast<const float*>(args.inputs[k]); };
    map_channels(map_, args.stream, Streams<T, 1>{{static_cast<const T*>(args.inputs[0])}},
                 ScaleGradient{vector(1), {vector(2), epsilon_}}, static_cast<T*>(args.outputs[0]));
  }

 private:
  float epsilon_;
  ChannelGrid map_;
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

template <typename T>
class BatchNormMomentsCudaKernel : public Kernel {
 public:
  explicit BatchNormMomentsCudaKernel(const KernelRequest& request)
      : grid_(sums_grid(request.inputs[0].shape)) {}

  size_t workspace_bytes() const override { return partial_bytes(grid_); }

  void run(const KernelArgs& args) override {
    sum_moments(grid_, args.stream, static_cast<const T*>(args.inputs[0]),
                static_cast<double*>(args.workspace),
                FinishMoments{grid_.channels, grid_.rows, static_cast<double*>(args.outputs[0])});
  }

 private:
  ChannelGrid grid_;
};

__global__ void __launch_bounds__(channel_threads)
    statistics_kernel(int64_t channels, const double* sums, WriteStatistics statistics) {
  int64_t c = int64_t{blockIdx.x} * channel_threads + threadIdx.x;
  if (c < channels) statistics.write(c, sums[c], sums[channels + c], sums[2 * channels]);
}

template <typename T>
class BatchNormSyncCudaKernel : public Kernel {
 public:
  BatchNormSyncCudaKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes), map_(map_grid(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    WriteStatistics statistics = write_statistics(args, attributes_.epsilon, 4);
    launch(statistics_kernel, blocks_for(map_.channels, channel_threads), channel_threads,
           args.stream, map_.channels, static_cast<const double*>(args.inputs[3]), statistics);
    AffineVectors<ScaleByInvStd> vectors{static_cast<const float*>(args.inputs[1]),
                                         static_cast<const float*>(args.inputs[2]),
                                         statistics.mean,
                                         {statistics.inv_std}};
    normalize<ScaleByInvStd, T>(map_, args.stream, attributes_, vectors, args.inputs[0],
                                attributes_.residual ? args.inputs[5] : nullptr, args.outputs[0]);
  }

 private:
  BatchNormAttributes attributes_;
  ChannelGrid map_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormOp& op, const KernelRequest& request) {
  return make_typed_cuda<BatchNormCudaKernel>(request.inputs[0].dtype, op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormEvalOp& op, const KernelRequest& request) {
  return make_typed_cuda<BatchNormEvalCudaKernel>(request.inputs[0].dtype, op.attributes(),
                                                  request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormEvalBackwardOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed_cuda<BatchNormEvalBackwardCudaKernel>(request.inputs[0].dtype, attributes,
                                                          request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormMomentsOp&, const KernelRequest& request) {
  return make_typed_cuda<BatchNormMomentsCudaKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormSyncOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed_cuda<BatchNormSyncCudaKernel>(request.inputs[0].dtype, attributes, request);
}

}  // namespace spire::inline kernels
