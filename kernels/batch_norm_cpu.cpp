// Forward: one pass over x for the moments, one that normalises. Backward: one pass over dy and x
// for the sums, one that writes dx. Nothing of x's size is kept in between.
#include <spire/kernels/batch_norm.h>
#include <spire/kernels/batch_norm_passes.h>
#include <spire/kernels/float_type.h>
#include <spire/kernels/parallel.h>

#include <cmath>

namespace spire {

namespace {

// pivot = mean of the first quarter of a block's rows, in every lane.
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

// sums += (sum x, sum x^2) of rows [begin, end). Each block sums d = x - pivot and d^2; as the
// pivot is the mean of a quarter of the block, sum d^2 is at most 4 times the block's own sum of
// squared deviations: fp32 loses nothing to a large mean.
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

template <bool relu, bool residual, typename T>
void normalise_rows(int64_t begin, int64_t end, int64_t width, const T* x, const T* addend,
                    Affine affinity, T* y) {
  for_each_lane(begin, end, width, [=](int64_t i, int64_t j, auto count) {
    FloatLanes value = affine(load_floats(x + i, count), affinity, j, count);
    if constexpr (residual) value += load_floats(addend + i, count);
    if constexpr (relu) value = value < 0 ? FloatLanes{} : value;
    store_floats(value, y + i, count);
  });
}

template <typename T>
void normalise(const ChannelTiles& tiles, int threads, const BatchNormAttributes& attributes,
               const T* x, const T* addend, Affine affinity, T* y) {
  auto rows = normalise_rows<false, false, T>;
  if (attributes.relu) rows = normalise_rows<true, false, T>;
  if (attributes.residual) rows = normalise_rows<false, true, T>;
  if (attributes.relu && attributes.residual) rows = normalise_rows<true, true, T>;
  parallel_for(threads, tiles.rows, tiles.block_rows, [&](int64_t begin, int64_t end, int) {
    rows(begin * tiles.channels, end * tiles.channels, tiles.width, x, addend, affinity, y);
  });
}

template <typename T>
class ForwardKernel : public Kernel {
 public:
  ForwardKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        tiles_(request.inputs[0].shape),
        threads_(request.threads),
        scratch_(tiles_, threads_) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    scratch_.clear_sums();
    auto x = static_cast<const T*>(args.inputs[0]);
    auto addend = attributes_.residual ? static_cast<const T*>(args.inputs[3]) : nullptr;
    parallel_for(threads_, tiles_.rows, tiles_.block_rows, [&](int64_t begin, int64_t end, int k) {
      add_moments(tiles_, x, begin, end, scratch_.lanes(k, 0), scratch_.lanes(k, 1),
                  scratch_.lanes(k, 2), scratch_.sums(k));
    });
    Affine affinity = finish(args);
    normalise(tiles_, threads_, attributes_, x, addend, affinity, static_cast<T*>(args.outputs[0]));
  }

 private:
  // Writes the statistics and the lane vectors of the second pass.
  Affine finish(const KernelArgs& args) const {
    auto gamma = static_cast<const float*>(args.inputs[1]);
    auto beta = static_cast<const float*>(args.inputs[2]);
    auto statistic = [&](size_t k) { return static_cast<float*>(args.outputs[k]); };
    float *center = scratch_.table(0), *scale = scratch_.table(1), *shift = scratch_.table(2);
    double n = static_cast<double>(std::max<int64_t>(tiles_.rows, 1));
    double unbias = n > 1 ? n / (n - 1) : 1;
    double weight = static_cast<double>(args.step->tower_weight);
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      double mean = scratch_.total(0, c) / n;
      double var = scratch_.total(1, c) / n - mean * mean;
      if (var < 0) var = 0;  // by rounding; a NaN stays
      statistic(1)[c] = center[c] = static_cast<float>(mean);
      float inv_std =
          static_cast<float>(1 / std::sqrt(var + static_cast<double>(attributes_.epsilon)));
      statistic(2)[c] = inv_std;
      statistic(3)[c] = static_cast<float>(weight * mean);
      statistic(4)[c] = static_cast<float>(weight * var * unbias);
      scale[c] = gamma[c] * inv_std;
      shift[c] = beta[c];
    }
    for (float* lanes : {center, scale, shift}) repeat_lanes(tiles_, lanes);
    return {center, scale, shift};
  }

  BatchNormAttributes attributes_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

template <typename T>
class EvalKernel : public Kernel {
 public:
  EvalKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
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
    normalise(tiles_, threads_, attributes_, static_cast<const T*>(args.inputs[0]), addend,
              {center, scale, shift}, static_cast<T*>(args.outputs[0]));
  }

 private:
  BatchNormAttributes attributes_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

template <template <typename> class K, typename SomeOp>
std::unique_ptr<Kernel> make_forward(const Op& op, const KernelRequest& request) {
  const auto& attributes = static_cast<const SomeOp&>(op).attributes();
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<K<decltype(type)>>(attributes, request);
  });
}

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_cpu(const Op& op, const KernelRequest& request) {
  return make_forward<ForwardKernel, BatchNormOp>(op, request);
}

std::unique_ptr<Kernel> make_batch_norm_eval_cpu(const Op& op, const KernelRequest& request) {
  return make_forward<EvalKernel, BatchNormEvalOp>(op, request);
}

}  // namespace spire
