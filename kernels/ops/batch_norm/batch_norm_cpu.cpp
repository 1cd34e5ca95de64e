// Batch normalization forward on the CPU, in two passes: one over x sums the moments in fp64, one
// normalizes. The statistics are made in between; nothing of x's size is kept. With `sync` the
// first pass is a kernel of its own, and the sum over towers comes between. Evaluation is the
// second pass alone, with the running statistics.
#include "kernels/ops/batch_norm/batch_norm_cpu.h"

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire {

namespace {

// pivot = mean of the first quarter of a block's rows, repeated in every lane.
template <typename T>
void find_pivot(const ChannelTiles& tiles, const T* x, int64_t begin, int64_t end, float* pivot) {
  int64_t rows = std::min(end - begin, 4 * tiles.repeat);
  std::fill_n(pivot, tiles.width, 0.0f);
  for_each_lane(begin * tiles.channels, (begin + rows) * tiles.channels, tiles.width,
                [=](int64_t i, int64_t j, auto count) {
                  add_to(pivot + j, load_floats(x + i, count), count);
                });
  fold_lanes(tiles, pivot);
  for (int64_t c = 0; c < tiles.channels; ++c) pivot[c] /= static_cast<float>(rows);
  repeat_lanes(tiles, pivot);
}

// sums += (sum x, sum x^2) of rows [begin, end). A block of rows sums d = x - pivot and d^2 in
// fp32. The pivot is the mean of a quarter of the block, so sum d^2 is at most 4 times the block's
// own sum of squared deviations, and fp32 loses nothing to a large mean. With n rows and pivot p:
//   sum x = sum d + n p    sum x^2 = sum d^2 + 2 p sum d + n p^2
template <typename T>
void add_moments(const ChannelTiles& tiles, const T* x, int64_t begin, int64_t end, float* pivot,
                 float* first, float* second, double* sums) {
  int64_t channels = tiles.channels;
  for (int64_t b = begin; b < end; b += tiles.block_rows) {
    int64_t e = std::min(end, b + tiles.block_rows);
    find_pivot(tiles, x, b, e, pivot);
    std::fill_n(first, tiles.width, 0.0f);
    std::fill_n(second, tiles.width, 0.0f);
    add_terms(b * channels, e * channels, tiles.width, first, second,
              [=](int64_t i, int64_t j, auto count) {
                will_read(x + i);
                FloatLanes d = load_floats(x + i, count) - load_floats(pivot + j, count);
                return TwoTerms{d, d * d};
              });
    fold_lanes(tiles, first);
    fold_lanes(tiles, second);
    double n = static_cast<double>(e - b);
    for (int64_t c = 0; c < channels; ++c) {
      double p = static_cast<double>(pivot[c]), d = static_cast<double>(first[c]);
      sums[c] += d + n * p;
      sums[channels + c] += static_cast<double>(second[c]) + 2 * p * d + n * p * p;
    }
  }
}

// Sets the scratch's totals to (sum x, sum x^2) of all rows.
template <typename T>
void sum_moments(const ChannelTiles& tiles, int threads, const T* x,
                 const ChannelScratch& scratch) {
  scratch.clear_sums();
  parallel_for(threads, tiles.rows, tiles.block_rows, [&](int64_t begin, int64_t end, int k) {
    add_moments(tiles, x, begin, end, scratch.lanes(k, 0), scratch.lanes(k, 1), scratch.lanes(k, 2),
                scratch.sums(k));
  });
}

// Writes outputs 1 to 4 (mean, inv_std, stat_mean, stat_var) and the tables of the second pass.
// sums: of all towers, as BatchNormMomentsOp makes them; null: the scratch's totals are the sums.
ChannelAffine write_statistics(const KernelArgs& args, const ChannelTiles& tiles,
                               const ChannelScratch& scratch, float epsilon, const double* sums) {
  auto gamma = args.in<float>(1), beta = args.in<float>(2), running_var = args.in<float>(3);
  double rows = sums ? sums[2 * tiles.channels] : static_cast<double>(tiles.rows);
  auto total = [&](int which, int64_t c) {
    return sums ? sums[which * tiles.channels + c] : scratch.total(which, c);
  };
  auto statistic = [&](size_t k) { return args.out<float>(k); };
  float *center = scratch.table(0), *scale = scratch.table(1), *shift = scratch.table(2);
  for (int64_t c = 0; c < tiles.channels; ++c) {
    auto [mean, inv_std, stat_mean, stat_var] = channel_statistics(
        total(0, c), total(1, c), rows, epsilon, args.step->tower_weight, running_var[c]);
    statistic(1)[c] = center[c] = mean;
    statistic(2)[c] = inv_std;
    statistic(3)[c] = stat_mean;
    statistic(4)[c] = stat_var;
    scale[c] = gamma[c] * inv_std;
    shift[c] = beta[c];
  }
  for (float* lanes : {center, scale, shift}) repeat_lanes(tiles, lanes);
  return {center, scale, shift};
}

template <bool relu, bool residual, typename T>
void normalize_rows(int64_t begin, int64_t end, int64_t width, const T* x, const T* addend,
                    ChannelAffine affinity, T* y) {
  for_each_lane(begin, end, width, [=](int64_t i, int64_t j, auto count) {
    will_read(x + i);
    will_write(y + i);
    if constexpr (residual) will_read(addend + i);
    FloatLanes value = affine(load_floats(x + i, count), affinity, j, count);
    if constexpr (residual) value += load_floats(addend + i, count);
    if constexpr (relu) value = value < 0 ? FloatLanes{} : value;
    store_floats(value, y + i, count);
  });
}

// y = affine(x) [+ addend] [through relu].
template <typename T>
void normalize(const ChannelTiles& tiles, int threads, const BatchNormAttributes& attributes,
               const T* x, const T* addend, ChannelAffine affinity, T* y) {
  auto rows = normalize_rows<false, false, T>;
  if (attributes.relu) rows = normalize_rows<true, false, T>;
  if (attributes.residual) rows = normalize_rows<false, true, T>;
  if (attributes.relu && attributes.residual) rows = normalize_rows<true, true, T>;
  parallel_for(threads, tiles.rows, tiles.block_rows, [&](int64_t begin, int64_t end, int) {
    rows(begin * tiles.channels, end * tiles.channels, tiles.width, x, addend, affinity, y);
  });
}

// Evaluation, and its gradient dx = scale g: without a center and shift.
Kernel scale_channels(const BatchNormAttributes& attributes, bool backward,
                      const KernelRequest& request) {
  ChannelTiles tiles(request.inputs[0].shape);
  ChannelScratch scratch(tiles, 0);
  auto a = attributes;
  int threads = request.threads;
  return cpu_kernel(request, scratch.bytes(), [=]<typename T>(T, const KernelArgs& args) mutable {
    scratch.bind(args.workspace);
    auto gamma = args.in<float>(1), variance = args.in<float>(backward ? 2 : 4);
    float *center = scratch.table(0), *scale = scratch.table(1), *shift = scratch.table(2);
    for (int64_t c = 0; c < tiles.channels; ++c) {
      center[c] = backward ? 0 : args.in<float>(3)[c];
      scale[c] = gamma[c] / std::sqrt(variance[c] + a.epsilon);
      shift[c] = backward ? 0 : args.in<float>(2)[c];
    }
    for (float* lanes : {center, scale, shift}) repeat_lanes(tiles, lanes);
    auto addend = a.residual && !backward ? args.in<T>(5) : nullptr;
    normalize(tiles, threads, backward ? BatchNormAttributes{} : a, args.in<T>(0), addend,
              {center, scale, shift}, args.out<T>(0));
  });
}

}  // namespace

template <>
Kernel make_cpu(const BatchNormOp& op, const KernelRequest& request) {
  ChannelTiles tiles(request.inputs[0].shape);
  ChannelScratch scratch(tiles, op.attributes().sync ? 0 : request.threads);
  auto a = op.attributes();
  auto residual = static_cast<size_t>(op.residual_input());
  int threads = request.threads;
  return cpu_kernel(request, scratch.bytes(), [=]<typename T>(T, const KernelArgs& args) mutable {
    scratch.bind(args.workspace);
    const double* sums = a.sync ? args.in<double>(4) : nullptr;
    if (!sums) sum_moments(tiles, threads, args.in<T>(0), scratch);
    normalize(tiles, threads, a, args.in<T>(0), a.residual ? args.in<T>(residual) : nullptr,
              write_statistics(args, tiles, scratch, a.epsilon, sums), args.out<T>(0));
  });
}

template <>
Kernel make_cpu(const BatchNormEvalOp& op, const KernelRequest& request) {
  return scale_channels(op.attributes(), false, request);
}

template <>
Kernel make_cpu(const BatchNormEvalBackwardOp& op, const KernelRequest& request) {
  return scale_channels(op.attributes(), true, request);
}

template <>
Kernel make_cpu(const BatchNormMomentsOp&, const KernelRequest& request) {
  ChannelTiles tiles(request.inputs[0].shape);
  ChannelScratch scratch(tiles, request.threads);
  int threads = request.threads;
  return cpu_kernel(request, scratch.bytes(), [=]<typename T>(T, const KernelArgs& args) mutable {
    scratch.bind(args.workspace);
    sum_moments(tiles, threads, args.in<T>(0), scratch);
    auto sums = args.out<double>(0);
    for (int64_t c = 0; c < tiles.channels; ++c) {
      sums[c] = scratch.total(0, c);
      sums[tiles.channels + c] = scratch.total(1, c);
    }
    sums[2 * tiles.channels] = static_cast<double>(tiles.rows);
  });
}

}  // namespace spire
