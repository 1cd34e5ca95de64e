// Group normalization on a GPU. A block takes a group of a sample: its first pass reads it from
// memory, later passes find it in the caches. Backward in four kernels: a block sums dy and dy xhat
// of some channels of a sample over all positions, a warp makes a group's means of them, dx is
// computed element by element, and the samples' sums are added in their order. No atomics, so each
// sum has one order. All in fp32.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"
#include "kernels/kernel.h"
#include "kernels/ops/group_norm/group_norm.h"

namespace spire {

namespace {

constexpr int group_threads = 256;

// A group of a sample of x. own: C / G.
struct GroupOfSample {
  GroupNormExtents e;
  Divider own;
  int64_t sample, group;

  // Place in x of element i of the group, i < P C / G.
  __device__ int64_t at(int64_t i) const {
    auto [position, channel] = own.divide(i);
    return sample * e.sample_size() + position * e.channels + group * own.divisor() + channel;
  }
  __device__ int64_t channel(int64_t i) const {
    return group * own.divisor() + own.divide(i).remainder;
  }

  // The block's sum of term(value) over the group.
  template <typename T, typename Term>
  __device__ float sum(const T* x, Term term) const {
    float sum = 0;
    for (int64_t i = threadIdx.x; i < e.group_size(); i += group_threads)
      sum += term(static_cast<float>(x[at(i)]));
    return block_reduce<group_threads>(sum, Sum{});
  }
};

template <typename T>
__global__ void __launch_bounds__(group_threads)
    group_norm_kernel(GroupNormExtents e, Divider own, Divider groups, const T* x,
                      const float* gamma, const float* beta, float epsilon, T* y, float* mean_out,
                      float* rstd_out) {
  auto [sample, index] = groups.divide(int64_t{blockIdx.x});
  GroupOfSample group{e, own, sample, index};
  auto size = static_cast<float>(e.group_size());
  float mean = group.sum(x, [](float value) { return value; }) / size;
  float squares = group.sum(x, [=](float value) { return (value - mean) * (value - mean); });
  float rstd = 1.0f / sqrtf(squares / size + epsilon);
  for (int64_t i = threadIdx.x; i < e.group_size(); i += group_threads) {
    int64_t at = group.at(i), channel = group.channel(i);
    y[at] = T(gamma[channel] * ((static_cast<float>(x[at]) - mean) * rstd) + beta[channel]);
  }
  if (threadIdx.x != 0) return;
  mean_out[blockIdx.x] = mean;
  rstd_out[blockIdx.x] = rstd;
}

// sums (N, 2, C): over positions of dy xhat, and of dy. A warp's threads have adjacent channels,
// the warps of a block positions in turn.
constexpr int sum_warps = group_threads / warp_threads;

template <typename T>
__global__ void __launch_bounds__(group_threads)
    group_norm_channel_sums_kernel(GroupNormExtents e, int64_t tiles, const T* dy, const T* x,
                                   const float* mean, const float* rstd, float* sums) {
  __shared__ float partial[2][sum_warps][warp_threads];
  int64_t sample = blockIdx.x / tiles;
  int lane = static_cast<int>(threadIdx.x) % warp_threads;
  int warp = static_cast<int>(threadIdx.x) / warp_threads;
  int64_t channel = blockIdx.x % tiles * warp_threads + lane;
  float products = 0, plain = 0;
  if (channel < e.channels) {
    int64_t group = sample * e.groups + channel / e.group_channels();
    float m = mean[group], r = rstd[group];
    for (int64_t p = warp; p < e.positions; p += sum_warps) {
      int64_t at = sample * e.sample_size() + p * e.channels + channel;
      auto gradient = static_cast<float>(dy[at]);
      products += gradient * ((static_cast<float>(x[at]) - m) * r);
      plain += gradient;
    }
  }
  partial[0][warp][lane] = products;
  partial[1][warp][lane] = plain;
  __syncthreads();
  if (warp > 1 || channel >= e.channels) return;
  float sum = 0;
  for (int other = 0; other < sum_warps; ++other) sum += partial[warp][other][lane];
  sums[(sample * 2 + warp) * e.channels + channel] = sum;
}

// means (N, 2, G): over a group of gamma dy xhat, and of gamma dy.
__global__ void __launch_bounds__(group_threads)
    group_norm_means_kernel(GroupNormExtents e, const float* gamma, const float* sums,
                            float* means) {
  int64_t i = int64_t{blockIdx.x} * group_threads + threadIdx.x;  // (sample, kind, group)
  if (i >= e.samples * 2 * e.groups) return;
  int64_t group = i % e.groups, own = e.group_channels();
  float sum = 0;
  for (int64_t c = group * own; c < (group + 1) * own; ++c)
    sum += gamma[c] * sums[i / e.groups * e.channels + c];
  means[i] = sum / static_cast<float>(e.group_size());
}

// dx may be dy or x: a thread reads only the elements that it writes.
template <typename T>
__global__ void __launch_bounds__(group_threads)
    group_norm_backward_kernel(GroupNormExtents e, const T* dy, const T* x, const float* gamma,
                               const float* mean, const float* rstd, const float* means, T* dx,
                               Divider row, Divider positions, Divider own) {
  int64_t i = int64_t{blockIdx.x} * group_threads + threadIdx.x;
  if (i >= e.samples * e.sample_size()) return;
  auto [place, channel] = row.divide(i);
  int64_t sample = positions.divide(place).quotient, group = own.divide(channel).quotient;
  int64_t at = sample * e.groups + group;
  float mean_gx = means[sample * 2 * e.groups + group];
  float mean_g = means[(sample * 2 + 1) * e.groups + group];
  float xhat = (static_cast<float>(x[i]) - mean[at]) * rstd[at];
  dx[i] = T(rstd[at] * (static_cast<float>(dy[i]) * gamma[channel] - mean_g - xhat * mean_gx));
}

// The samples' sums, in their order.
__global__ void __launch_bounds__(group_threads)
    group_norm_add_samples_kernel(GroupNormExtents e, const float* sums, float* dgamma,
                                  float* dbeta) {
  int64_t c = int64_t{blockIdx.x} * group_threads + threadIdx.x;
  if (c >= 2 * e.channels) return;
  float sum = 0;
  for (int64_t n = 0; n < e.samples; ++n) sum += sums[n * 2 * e.channels + c];
  (c < e.channels ? dgamma : dbeta - e.channels)[c] = sum;
}

}  // namespace

template <>
Kernel make_cuda(const GroupNormOp& op, const KernelRequest& request) {
  auto e = group_norm_extents(request.inputs[0].shape, request.outputs[1].shape);
  float epsilon = op.attributes().epsilon;
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    launch(group_norm_kernel<T>, static_cast<unsigned>(e.samples * e.groups), group_threads,
           args.stream, e, Divider(e.group_channels()), Divider(e.groups), args.in<T>(0),
           args.in<float>(1), args.in<float>(2), epsilon, args.out<T>(0), args.out<float>(1),
           args.out<float>(2));
  });
}

template <>
Kernel make_cuda(const GroupNormBackwardOp&, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&]<typename T>(T) {
    auto e = group_norm_extents(request.inputs[1].shape, request.inputs[3].shape);
    int64_t tiles = (e.channels + warp_threads - 1) / warp_threads;
    auto run = [=](const KernelArgs& args) {
      auto dy = args.in<T>(0), x = args.in<T>(1);
      auto gamma = args.in<float>(2), mean = args.in<float>(3), rstd = args.in<float>(4);
      auto sums = args.scratch<float>(), means = sums + 2 * e.samples * e.channels;
      launch(group_norm_channel_sums_kernel<T>, static_cast<unsigned>(e.samples * tiles),
             group_threads, args.stream, e, tiles, dy, x, mean, rstd, sums);
      launch(group_norm_means_kernel, blocks_for(2 * e.samples * e.groups, group_threads),
             group_threads, args.stream, e, gamma, sums, means);
      launch(group_norm_backward_kernel<T>, blocks_for(e.samples * e.sample_size(), group_threads),
             group_threads, args.stream, e, dy, x, gamma, mean, rstd, means, args.out<T>(0),
             Divider(e.channels), Divider(e.positions), Divider(e.group_channels()));
      launch(group_norm_add_samples_kernel, blocks_for(2 * e.channels, group_threads),
             group_threads, args.stream, e, sums, args.out<float>(1), args.out<float>(2));
    };
    return Kernel(run,
                  static_cast<size_t>(2 * e.samples * (e.channels + e.groups)) * sizeof(float));
  });
}

}  // namespace spire
