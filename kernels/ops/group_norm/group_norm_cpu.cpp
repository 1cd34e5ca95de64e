// Group normalization on the CPU, a sample at a time by one thread. Sums over positions are kept
// per channel, in registers along the channels; a group's sum is that of its channels. All sums
// have an order that the shape alone fixes. In fp32; a channel's sum is of sums of 64 positions.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"
#include "kernels/ops/group_norm/group_norm.h"

namespace spire {

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
  return args.scratch<float>() + thread * rows * e.channels;
}

template <typename T>
struct GroupNormCpu {
  static constexpr int64_t scratch_rows = 4;  // a block's sums, sums, mean and rstd of each channel

  float epsilon;
  int threads;
  GroupNormExtents e;

  void operator()(const KernelArgs& args) const {
    parallel_for(threads, e.samples, 1, [&](int64_t begin, int64_t end, int thread) {
      float* scratch = scratch_of(args, e, scratch_rows, thread);
      for (int64_t n = begin; n < end; ++n) normalize(args, n, scratch);
    });
  }

  void normalize(const KernelArgs& args, int64_t n, float* scratch) const {
    auto x = args.in<T>(0) + n * e.sample_size();
    float *block = scratch, *sums = block + e.channels, *mean = sums + e.channels,
          *rstd = mean + e.channels;
    auto count = static_cast<float>(e.group_size());
    sum_channels(e, block, sums, [&](int64_t p, int64_t c, auto lanes) {
      return load_floats(x + p * e.channels + c, lanes);
    });
    spread(e, mean, [&](int64_t g) { return group_sum(e, sums, g) / count; });
    sum_channels(e, block, sums, [&](int64_t p, int64_t c, auto lanes) {
      FloatLanes off = load_floats(x + p * e.channels + c, lanes) - load_floats(mean + c, lanes);
      return off * off;
    });
    spread(e, rstd,
           [&](int64_t g) { return 1.0f / std::sqrt(group_sum(e, sums, g) / count + epsilon); });
    for (int64_t g = 0; g < e.groups; ++g) {
      args.out<float>(1)[n * e.groups + g] = mean[g * e.group_channels()];
      args.out<float>(2)[n * e.groups + g] = rstd[g * e.group_channels()];
    }
    write(x, mean, rstd, args, args.out<T>(0) + n * e.sample_size());
  }

  void write(const T* x, const float* mean, const float* rstd, const KernelArgs& args, T* y) const {
    auto gamma = args.in<float>(1);
    auto beta = args.in<float>(2);
    for (int64_t p = 0; p < e.positions; ++p) {
      over_lanes(e.channels, [&](int64_t c, auto count) {
        int64_t at = p * e.channels + c;
        FloatLanes xhat = (load_floats(x + at, count) - load_floats(mean + c, count)) *
                          load_floats(rstd + c, count);
        store_floats(load_floats(gamma + c, count) * xhat + load_floats(beta + c, count), y + at,
                     count);
      });
    }
  }
};

template <typename T>
struct GroupNormBackwardCpu {
  // A block's sums, and of each channel: mean, rstd, mean(g), mean(g xhat).
  static constexpr int64_t scratch_rows = 5;

  int threads;
  GroupNormExtents e;

  void operator()(const KernelArgs& args) const {
    float* sums = scratch_of(args, e, scratch_rows, threads);
    parallel_for(threads, e.samples, 1, [&](int64_t begin, int64_t end, int thread) {
      float* scratch = scratch_of(args, e, scratch_rows, thread);
      for (int64_t n = begin; n < end; ++n)
        differentiate(args, n, scratch, sums + n * 2 * e.channels);
    });
    for (int k : {0, 1}) add_up(sums + k * e.channels, args.out<float>(static_cast<size_t>(1 + k)));
  }

  // dx may be dy or x: an element is written after its last read.
  void differentiate(const KernelArgs& args, int64_t n, float* scratch, float* sums) const {
    auto dy = args.in<T>(0) + n * e.sample_size();
    auto x = args.in<T>(1) + n * e.sample_size();
    auto gamma = args.in<float>(2);
    auto dx = args.out<T>(0) + n * e.sample_size();
    int64_t channels = e.channels;
    float *block = scratch, *mean = block + channels, *rstd = mean + channels,
          *mean_g = rstd + channels, *mean_gx = mean_g + channels;
    auto statistic = [&](int input, int64_t g) {
      return args.in<float>(static_cast<size_t>(input))[n * e.groups + g];
    };
    spread(e, mean, [&](int64_t g) { return statistic(3, g); });
    spread(e, rstd, [&](int64_t g) { return statistic(4, g); });
    auto xhat = [&](int64_t at, int64_t c, auto lanes) {
      return (load_floats(x + at, lanes) - load_floats(mean + c, lanes)) *
             load_floats(rstd + c, lanes);
    };
    sum_channels(e, block, sums, [&](int64_t p, int64_t c, auto lanes) {
      int64_t at = p * channels + c;
      return load_floats(dy + at, lanes) * xhat(at, c, lanes);
    });
    sum_channels(e, block, sums + channels, [&](int64_t p, int64_t c, auto lanes) {
      return load_floats(dy + p * channels + c, lanes);
    });
    spread(e, mean_gx, [&](int64_t g) { return weighted_mean(gamma, sums, g); });
    spread(e, mean_g, [&](int64_t g) { return weighted_mean(gamma, sums + channels, g); });
    for (int64_t p = 0; p < e.positions; ++p) {
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
    int64_t own = e.group_channels();
    for (int64_t c = group * own; c < (group + 1) * own; ++c) sum += gamma[c] * sums[c];
    return sum / static_cast<float>(e.group_size());
  }

  // The samples' sums, in their order.
  void add_up(const float* sums, float* total) const {
    over_lanes(e.channels, [&](int64_t c, auto count) {
      FloatLanes lanes{};
      for (int64_t n = 0; n < e.samples; ++n)
        lanes += load_floats(sums + n * 2 * e.channels + c, count);
      store_floats(lanes, total + c, count);
    });
  }
};

}  // namespace

template <>
Kernel make_cpu(const GroupNormOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    using Run = GroupNormCpu<decltype(type)>;
    auto e = group_norm_extents(request.inputs[0].shape, request.outputs[1].shape);
    return Kernel(
        Run{op.attributes().epsilon, request.threads, e},
        static_cast<size_t>(request.threads * Run::scratch_rows * e.channels) * sizeof(float));
  });
}

// Workspace: a sample's sums of dy xhat and of dy, (N, 2, C), behind the threads' scratch.
template <>
Kernel make_cpu(const GroupNormBackwardOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    using Run = GroupNormBackwardCpu<decltype(type)>;
    auto e = group_norm_extents(request.inputs[1].shape, request.inputs[3].shape);
    int64_t rows = request.threads * Run::scratch_rows + 2 * e.samples;
    return Kernel(Run{request.threads, e}, static_cast<size_t>(rows * e.channels) * sizeof(float));
  });
}

}  // namespace spire
