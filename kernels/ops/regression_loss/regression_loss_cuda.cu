// Regression losses and the mean loss on a GPU. Forward in two kernels: each block sums the terms
// of a part of the elements in fp64, then one block adds the parts in a fixed order. Backward:
// elementwise; the step's factor is read on the device, as a captured graph replays with new
// numbers.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/regression_loss/regression_loss.h"

namespace spire {

namespace {

// Returns the number of blocks for n elements in packs of `width`: at least two packs a thread, so
// that few blocks suffice for small tensors.
int loss_parts(int64_t n, int64_t width) {
  return static_cast<int>(
      smaller<int64_t>(larger<int64_t>(n / (block_threads * 2 * width), 1), 1024));
}

// Adds the sums of all threads of a block.
__device__ RegressionSums add_block(RegressionSums sums) {
  return {.absolute = block_reduce<block_threads>(sums.absolute, Sum{}),
          .squared = block_reduce<block_threads>(sums.squared, Sum{})};
}

// parts[b] = the sums of block b's elements: every so many packs, N elements each.
template <int N, typename T, typename U>
__global__ void __launch_bounds__(block_threads)
    regression_parts_kernel(int64_t n, const T* __restrict__ p, const U* __restrict__ t,
                            RegressionSums* __restrict__ parts) {
  RegressionSums sums;
  auto add = [&](float prediction, float target) {
    float d = prediction - target;
    sums.absolute += static_cast<double>(d < 0 ? -d : d);
    sums.squared += static_cast<double>(d * d);
  };
  int64_t thread = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  int64_t all = int64_t{gridDim.x} * block_threads, packs = n / N;
  in_batches<2>(thread, packs, all, [&](int64_t first, auto count) {
    Pack<T, N> a[count()];
    Pack<U, N> b[count()];
    for (int k = 0; k < count(); ++k) {
      a[k] = load_pack<N>(p + (first + k * all) * N);
      b[k] = load_pack<N>(t + (first + k * all) * N);
    }
    for (int k = 0; k < count(); ++k)
      for (int i = 0; i < N; ++i)
        add(static_cast<float>(a[k].at[i]), static_cast<float>(b[k].at[i]));
  });
  // The elements behind the last whole pack, one a thread.
  int64_t rest = packs * N + thread;
  if (rest < n) add(static_cast<float>(p[rest]), static_cast<float>(t[rest]));
  sums = add_block(sums);
  if (threadIdx.x == 0) parts[blockIdx.x] = sums;
}

// Adds the sums of all blocks, by one block, and writes the two losses.
__global__ void __launch_bounds__(block_threads)
    regression_totals_kernel(int count, const RegressionSums* parts, RegressionAttributes a,
                             double share, double* loss, double* squares) {
  RegressionSums sums;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads) sums += parts[i];
  sums = add_block(sums);
  if (threadIdx.x != 0) return;
  *loss = regression_loss(a, sums) * share;
  *squares = sums.squared * share;
}

// The gradient, with the factor of the step that runs.
struct RegressionStepGradient {
  RegressionAttributes a;
  float share;
  const StepContext* step;

  __device__ float operator()(float p, float t) const {
    float scale = share * step->loss_gradient_scale();
    if (a.kind == Regression::mse) return RegressionGradient<Regression::mse>(a, scale)(p, t);
    if (a.kind == Regression::l1) return RegressionGradient<Regression::l1>(a, scale)(p, t);
    return RegressionGradient<Regression::l1_l2>(a, scale)(p, t);
  }
};

// Returns make(T{}, U{}) for the types of prediction and target.
template <typename Make>
Kernel with_types_cuda(const KernelRequest& request, const Make& make) {
  return with_any_float_type(request.inputs[0].dtype, [&](auto p) {
    return with_any_float_type(request.inputs[1].dtype,
                               [&](auto t) -> Kernel { return make(p, t); });
  });
}

// parts[b] = the sum of block b's elements: every so many packs, N elements each.
template <int N, typename T>
__global__ void __launch_bounds__(block_threads)
    mean_loss_parts_kernel(int64_t n, const T* __restrict__ x, double* __restrict__ parts) {
  double sum = 0;
  int64_t thread = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  int64_t all = int64_t{gridDim.x} * block_threads, packs = n / N;
  in_batches<2>(thread, packs, all, [&](int64_t first, auto count) {
    Pack<T, N> a[count()];
    for (int k = 0; k < count(); ++k) a[k] = load_pack<N>(x + (first + k * all) * N);
    for (int k = 0; k < count(); ++k)
      for (int i = 0; i < N; ++i) sum += static_cast<double>(static_cast<float>(a[k].at[i]));
  });
  // The elements behind the last whole pack, one a thread.
  int64_t rest = packs * N + thread;
  if (rest < n) sum += static_cast<double>(static_cast<float>(x[rest]));
  sum = block_reduce<block_threads>(sum, Sum{});
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// Adds the sums of all blocks, by one block.
__global__ void __launch_bounds__(block_threads)
    mean_loss_total_kernel(int count, const double* parts, double share, double* loss) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads) sum += parts[i];
  sum = block_reduce<block_threads>(sum, Sum{});
  if (threadIdx.x == 0) *loss = sum * share;
}

struct MeanLossGradient {
  float share;
  const StepContext* step;
  __device__ float operator()() const { return share * step->loss_gradient_scale(); }
};

}  // namespace

template <>
Kernel make_cuda(const RegressionLossOp& op, const KernelRequest& request) {
  return with_types_cuda(request, [&]<typename T, typename U>(T, U) {
    constexpr int N = smaller(pack_width<T>, pack_width<U>);
    int64_t n = request.inputs[0].shape.elements();
    int parts = loss_parts(n, N);
    auto run = [=, a = op.attributes(),
                share = sample_share(request.inputs[0])](const KernelArgs& args) {
      auto sums = args.scratch<RegressionSums>();
      launch(regression_parts_kernel<N, T, U>, static_cast<unsigned>(parts), block_threads,
             args.stream, n, args.in<T>(0), args.in<U>(1), sums);
      launch(regression_totals_kernel, 1, block_threads, args.stream, parts, sums, a, share,
             args.out<double>(0), args.out<double>(1));
    };
    return Kernel(run, static_cast<size_t>(parts) * sizeof(RegressionSums));
  });
}

template <>
Kernel make_cuda(const RegressionLossBackwardOp& op, const KernelRequest& request) {
  return with_types_cuda(request, [&]<typename T, typename U>(T, U) {
    return [n = request.inputs[0].shape.elements(), a = op.attributes(),
            share = static_cast<float>(sample_share(request.inputs[0]))](const KernelArgs& args) {
      elementwise_cuda(args.stream, n, args.out<T>(0), RegressionStepGradient{a, share, args.step},
                       args.in<T>(0), args.in<U>(1));
    };
  });
}

template <>
Kernel make_cuda(const MeanLossOp&, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&]<typename T>(T) {
    constexpr int N = pack_width<T>;
    int64_t n = request.inputs[0].shape.elements();
    int parts = loss_parts(n, N);
    auto run = [=, share = sample_share(request.inputs[0])](const KernelArgs& args) {
      auto sums = args.scratch<double>();
      launch(mean_loss_parts_kernel<N, T>, static_cast<unsigned>(parts), block_threads, args.stream,
             n, args.in<T>(0), sums);
      launch(mean_loss_total_kernel, 1, block_threads, args.stream, parts, sums, share,
             args.out<double>(0));
    };
    return Kernel(run, static_cast<size_t>(parts) * sizeof(double));
  });
}

template <>
Kernel make_cuda(const MeanLossBackwardOp&, const KernelRequest& request) {
  int64_t n = request.inputs[0].shape.elements();
  auto share = static_cast<float>(sample_share(request.inputs[0]));
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    elementwise_cuda(args.stream, n, args.out<T>(0), MeanLossGradient{share, args.step});
  });
}

}  // namespace spire
