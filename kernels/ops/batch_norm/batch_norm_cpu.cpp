// Batch normalization forward on the CPU, in two passes: one over x sums the moments in fp64, one
// normalizes. The statistics are made in between; nothing of x's size is kept. The plain op runs
// both passes in one kernel. The sync op is two kernels with the sum over towers between them.
// Evaluation is the second pass alone, with the running statistics.
#include "kernels/ops/batch_norm/batch_norm_cpu.h"

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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

// Writes outputs 1 to 4 (mean, inv_std, stat_mean, stat_var) and the tables of the second pass from
// total(0, c) = sum x and total(1, c) = sum x^2 over `rows` rows. Inputs 1 and 2: gamma, beta;
// input `running`: running_var.
template <typename Total>
ChannelAffine write_statistics(const KernelArgs& args, const ChannelTiles& tiles,
                               const ChannelScratch& scratch, float epsilon, double rows,
                               size_t running, const Total& total) {
  auto gamma = static_cast<const float*>(args.inputs[1]);
  auto beta = static_cast<const float*>(args.inputs[2]);
  auto running_var = static_cast<const float*>(args.inputs[running]);
  auto statistic = [&](size_t k) { return static_cast<float*>(args.outputs[k]); };
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

template <typename T>
class BatchNormCpuKernel : public Kernel {
 public:
  BatchNormCpuKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        tiles_(request.inputs[0].shape),
        threads_(request.threads),
        scratch_(tiles_, threads_) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto x = static_cast<const T*>(args.inputs[0]);
    auto addend = attributes_.residual ? static_cast<const T*>(args.inputs[4]) : nullptr;
    sum_moments(tiles_, threads_, x, scratch_);
    ChannelAffine affinity = write_statistics(
        args, tiles_, scratch_, attributes_.epsilon, static_cast<double>(tiles_.rows), 3,
        [&](int which, int64_t c) { return scratch_.total(which, c); });
    normalize(tiles_, threads_, attributes_, x, addend, affinity, static_cast<T*>(args.outputs[0]));
  }

 private:
  BatchNormAttributes attributes_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

template <typename T>
class BatchNormEvalCpuKernel : public Kernel {
 public:
  BatchNormEvalCpuKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        tiles_(request.inputs[0].shape),
        threads_(request.threads),
        scratch_(tiles_, 0) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto vector = [&](size_t k) { return static_cast<const float*>(args.inputs[k]); };
    float *center = scratch_.table(0), *scale = scratch_.table(1), *shift = scratch_.table(2);
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      center[c] = vector(3)[c];
      scale[c] = vector(1)[c] / std::sqrt(vector(4)[c] + attributes_.epsilon);
      shift[c] = vector(2)[c];
    }
    for (float* lanes : {center, scale, shift}) repeat_lanes(tiles_, lanes);
    auto addend = attributes_.residual ? static_cast<const T*>(args.inputs[5]) : nullptr;
    normalize(tiles_, threads_, attributes_, static_cast<const T*>(args.inputs[0]), addend,
              {center, scale, shift}, static_cast<T*>(args.outputs[0]));
  }

 private:
  BatchNormAttributes attributes_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

// dx = affine(g), with the scale of evaluation and no center and shift.
template <typename T>
class BatchNormEvalBackwardCpuKernel : public Kernel {
 public:
  BatchNormEvalBackwardCpuKernel(const BatchNormAttributes& attributes,
                                 const KernelRequest& request)
      : epsilon_(attributes.epsilon),
        tiles_(request.inputs[0].shape),
        threads_(request.threads),
        scratch_(tiles_, 0) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto gamma = static_cast<const float*>(args.inputs[1]);
    auto variance = static_cast<const float*>(args.inputs[2]);
    float *zero = scratch_.table(0), *scale = scratch_.table(1);
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      zero[c] = 0;
      scale[c] = gamma[c] / std::sqrt(variance[c] + epsilon_);
    }
    for (float* lanes : {zero, scale}) repeat_lanes(tiles_, lanes);
    normalize<T>(tiles_, threads_, {}, static_cast<const T*>(args.inputs[0]), nullptr,
                 {zero, scale, zero}, static_cast<T*>(args.outputs[0]));
  }

 private:
  float epsilon_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

template <typename T>
class BatchNormMomentsCpuKernel : public Kernel {
 public:
  explicit BatchNormMomentsCpuKernel(const KernelRequest& request)
      : tiles_(request.inputs[0].shape), threads_(request.threads), scratch_(tiles_, threads_) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    sum_moments(tiles_, threads_, static_cast<const T*>(args.inputs[0]), scratch_);
    auto sums = static_cast<double*>(args.outputs[0]);
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      sums[c] = scratch_.total(0, c);
      sums[tiles_.channels + c] = scratch_.total(1, c);
    }
    sums[2 * tiles_.channels] = static_cast<double>(tiles_.rows);
  }

 private:
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

template <typename T>
class BatchNormSyncCpuKernel : public Kernel {
 public:
  BatchNormSyncCpuKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        tiles_(request.inputs[0].shape),
        threads_(request.threads),
        scratch_(tiles_, 0) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto sums = static_cast<const double*>(args.inputs[3]);
    int64_t channels = tiles_.channels;
    ChannelAffine affinity =
        write_statistics(args, tiles_, scratch_, attributes_.epsilon, sums[2 * channels], 4,
                         [=](int which, int64_t c) { return sums[which * channels + c]; });
    auto addend = attributes_.residual ? static_cast<const T*>(args.inputs[5]) : nullptr;
    normalize(tiles_, threads_, attributes_, static_cast<const T*>(args.inputs[0]), addend,
              affinity, static_cast<T*>(args.outputs[0]));
  }

 private:
  BatchNormAttributes attributes_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormOp& op, const KernelRequest& request) {
  return make_typed<BatchNormCpuKernel>(request.inputs[0].dtype, op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormEvalOp& op, const KernelRequest& request) {
  return make_typed<BatchNormEvalCpuKernel>(request.inputs[0].dtype, op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormEvalBackwardOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed<BatchNormEvalBackwardCpuKernel>(request.inputs[0].dtype, attributes, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormMomentsOp&, const KernelRequest& request) {
  return make_typed<BatchNormMomentsCpuKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormSyncOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed<BatchNormSyncCpuKernel>(request.inputs[0].dtype, attributes, request);
}

}  // namespace spire::inline kernels
