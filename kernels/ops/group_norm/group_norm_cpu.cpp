// Group normalization on the CPU, a sample at a time by one thread. Sums over positions are kept
// per channel, in registers along the channels; a group's sum is that of its channels. All sums
// have an order that the shape alone fixes. In fp32; a channel's sum is of sums of 64 positions.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/ops/group_norm/group_norm.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t block_positions = 64;

// sums[c] = sum of term(position, c, lanes) over all positions. block: room for (C).
template <typename Term>
void sum_channels(const GroupNormExtents& e, float* block, float* sums, const Term& term) {
  std::fill_n(sums, e.channels, 0.0f);
  for (int64_t first = 0; first < e.positions; first += block_positions) {
    std::fill_n(block, e.channels, 0.0f);
    int64_t end = std::min(e.positions, first + block_positions);
    for (int64_t p = first; p < end; ++p)
      over_lanes(e.channels, [&](int64_t c, auto count) {
        store_floats(load_floats(block + c, count) + term(p, c, count), block + c, count);
      });
    for (int64_t c = 0; c < e.channels; ++c) sums[c] += block[c];
  }
}

// Writes value(group) to each channel of the group.
template <typename PerGroup>
void spread(const GroupNormExtents& e, float* channels, const PerGroup& value) {
  int64_t own = e.group_channels();
  for (int64_t g = 0; g < e.groups; ++g) std::fill_n(channels + g * own, own, value(g));
}

// Sum over the channels of a group.
float group_sum(const GroupNormExtents& e, const float* channels, int64_t group) {
  float sum = 0;
  for (int64_t c = 0; c < e.group_channels(); ++c) sum += channels[group * e.group_channels() + c];
  return sum;
}

// Scratch memory of a thread: so many rows of C floats.
float* scratch_of(const KernelArgs& args, const GroupNormExtents& e, int64_t rows, int thread) {
  return static_cast<float*>(args.workspace) + thread * rows * e.channels;
}

template <typename T>
class GroupNormCpuKernel : public Kernel {
 public:
  GroupNormCpuKernel(float epsilon, const KernelRequest& request)
      : epsilon_(epsilon),
        threads_(request.threads),
        e_(group_norm_extents(request.inputs[0].shape, request.outputs[1].shape)) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(threads_ * scratch_rows * e_.channels) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    parallel_for(threads_, e_.samples, 1, [&](int64_t begin, int64_t end, int thread) {
      float* scratch = scratch_of(args, e_, scratch_rows, thread);
      for (int64_t n = begin; n < end; ++n) normalize(args, n, scratch);
    });
  }

 private:
  static constexpr int64_t scratch_rows = 4;  // a block's sums, sums, mean and rstd of each channel

  void normalize(const KernelArgs& args, int64_t n, float* scratch) const {
    auto x = static_cast<const T*>(args.inputs[0]) + n * e_.sample_size();
    float *block = scratch, *sums = block + e_.channels, *mean = sums + e_.channels,
          *rstd = mean + e_.channels;
    auto count = static_cast<float>(e_.group_size());
    sum_channels(e_, block, sums, [&](int64_t p, int64_t c, auto lanes) {
      return load_floats(x + p * e_.channels + c, lanes);
    });
    spread(e_, mean, [&](int64_t g) { return group_sum(e_, sums, g) / count; });
    sum_channels(e_, block, sums, [&](int64_t p, int64_t c, auto lanes) {
      FloatLanes off = load_floats(x + p * e_.channels + c, lanes) - load_floats(mean + c, lanes);
      return off * off;
    });
    spread(e_, rstd,
           [&](int64_t g) { return 1.0f / std::sqrt(group_sum(e_, sums, g) / count + epsilon_); });
    for (int64_t g = 0; g < e_.groups; ++g) {
      static_cast<float*>(args.outputs[1])[n * e_.groups + g] = mean[g * e_.group_channels()];
      static_cast<float*>(args.outputs[2])[n * e_.groups + g] = rstd[g * e_.group_channels()];
    }
    write(x, mean, rstd, args, static_cast<T*>(args.outputs[0]) + n * e_.sample_size());
  }

  void write(const T* x, const float* mean, const float* rstd, const KernelArgs& args, T* y) const {
    auto gamma = static_cast<const float*>(args.inputs[1]);
    auto beta = static_cast<const float*>(args.inputs[2]);
    for (int64_t p = 0; p < e_.positions; ++p) {
      over_lanes(e_.channels, [&](int64_t c, auto count) {
        int64_t at = p * e_.channels + c;
        FloatLanes xhat = (load_floats(x + at, count) - load_floats(mean + c, count)) *
                          load_floats(rstd + c, count);
        store_floats(load_floats(gamma + c, count) * xhat + load_floats(beta + c, count), y + at,
                     count);
      });
    }
  }

  float epsilon_;
  int threads_;
  GroupNormExtents e_;
};

template <typename T>
class GroupNormBackwardCpuKernel : public Kernel {
 public:
  explicit GroupNormBackwardCpuKernel(const KernelRequest& request)
      : threads_(request.threads),
        e_(group_norm_extents(request.inputs[1].shape, request.inputs[3].shape)) {}

  // A sample's sums of dy xhat and of dy, (N, 2, C), behind the threads' scratch.
  size_t workspace_bytes() const override {
    return static_cast<size_t>((threads_ * scratch_rows + 2 * e_.samples) * e_.channels) *
           sizeof(float);
  }

  void run(const KernelArgs& args) override {
    float* sums = scratch_of(args, e_, scratch_rows, threads_);
    parallel_for(threads_, e_.samples, 1, [&](int64_t begin, int64_t end, int thread) {
      float* scratch = scratch_of(args, e_, scratch_rows, thread);
      for (int64_t n = begin; n < end; ++n)
        differentiate(args, n, scratch, sums + n * 2 * e_.channels);
    });
    for (int k : {0, 1})
      add_up(sums + k * e_.channels, static_cast<float*>(args.outputs[static_cast<size_t>(1 + k)]));
  }

 private:
  // A block's sums, and of each channel: mean, rstd, mean(g), mean(g xhat).
  static constexpr int64_t scratch_rows = 5;

  // dx may be dy or x: an element is written after its last read.
  void differentiate(const KernelArgs& args, int64_t n, float* scratch, float* sums) const {
    auto dy = static_cast<const T*>(args.inputs[0]) + n * e_.sample_size();
    auto x = static_cast<const T*>(args.inputs[1]) + n * e_.sample_size();
    auto gamma = static_cast<const float*>(args.inputs[2]);
    auto dx = static_cast<T*>(args.outputs[0]) + n * e_.sample_size();
    int64_t channels = e_.channels;
    float *block = scratch, *mean = block + channels, *rstd = mean + channels,
          *mean_g = rstd + channels, *mean_gx = mean_g + channels;
    auto statistic = [&](int input, int64_t g) {
      return static_cast<const float*>(args.inputs[static_cast<size_t>(input)])[n * e_.groups + g];
    };
    spread(e_, mean, [&](int64_t g) { return statistic(3, g); });
    spread(e_, rstd, [&](int64_t g) { return statistic(4, g); });
    auto xhat = [&](int64_t at, int64_t c, auto lanes) {
      return (load_floats(x + at, lanes) - load_floats(mean + c, lanes)) *
             load_floats(rstd + c, lanes);
    };
    sum_channels(e_, block, sums, [&](int64_t p, int64_t c, auto lanes) {
      int64_t at = p * channels + c;
      return load_floats(dy + at, lanes) * xhat(at, c, lanes);
    });
    sum_channels(e_, block, sums + channels, [&](int64_t p, int64_t c, auto lanes) {
      return load_floats(dy + p * channels + c, lanes);
    });
    spread(e_, mean_gx, [&](int64_t g) { return weighted_mean(gamma, sums, g); });
    spread(e_, mean_g, [&](int64_t g) { return weighted_mean(gamma, sums + channels, g); });
    for (int64_t p = 0; p < e_.positions; ++p) {
      over_lanes(channels, [&](int64_t c, auto lanes) {
        int64_t at = p * channels + c;
        FloatLanes g = load_floats(dy + at, lanes) * load_floats(gamma + c, lanes);
        FloatLanes left = g - load_floats(mean_g + c, lanes) -
                          xhat(at, c, lanes) * load_floats(mean_gx + c, lanes);
        store_floats(left * load_floats(rstd + c, lanes), dx + at, lanes);
      });
    }
  }

  // Mean over a group of gamma times what `sums` holds for each channel.
  float weighted_mean(const float* gamma, const float* sums, int64_t group) const {
    float sum = 0;
    int64_t own = e_.group_channels();
    for (int64_t c = group * own; c < (group + 1) * own; ++c) sum += gamma[c] * sums[c];
    return sum / static_cast<float>(e_.group_size());
  }

  // The samples' sums, in their order.
  void add_up(const float* sums, float* total) const {
    over_lanes(e_.channels, [&](int64_t c, auto count) {
      FloatLanes lanes{};
      for (int64_t n = 0; n < e_.samples; ++n)
        lanes += load_floats(sums + n * 2 * e_.channels + c, count);
      store_floats(lanes, total + c, count);
    });
  }

  int threads_;
  GroupNormExtents e_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const GroupNormOp& op, const KernelRequest& request) {
  float epsilon = op.attributes().epsilon;
  return make_typed<GroupNormCpuKernel>(request.inputs[0].dtype, epsilon, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const GroupNormBackwardOp&, const KernelRequest& request) {
  return make_typed<GroupNormBackwardCpuKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
