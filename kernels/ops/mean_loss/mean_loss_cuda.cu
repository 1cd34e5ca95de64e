// The mean loss on a GPU. Forward in two kernels: each block sums a part of the elements in fp64,
// then one block adds the parts in a fixed order. Backward: one number for all elements; the step's
// factor is read on the device, as a captured graph replays with new numbers.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/mean_loss/mean_loss.h"
#include "kernels/sample_share.h"

namespace spire {

namespace {

constexpr int64_t mean_loss_parts = 1024;

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
Kernel make_cuda(const MeanLossOp&, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&](auto type) {
    using T = decltype(type);
    constexpr int N = pack_width<T>;
    int64_t n = request.inputs[0].shape.elements();
    // At least two packs a thread, so that few blocks suffice for small tensors.
    int parts =
        static_cast<int>(smaller(larger<int64_t>(n / (block_threads * 2 * N), 1), mean_loss_parts));
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
  return with_any_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    return [n = request.inputs[0].shape.elements(),
            share = static_cast<float>(sample_share(request.inputs[0]))](const KernelArgs& args) {
      elementwise_cuda(args.stream, n, args.out<T>(0), MeanLossGradient{share, args.step});
    };
  });
}

}  // namespace spire
