// The mean loss on a GPU. Forward in two kernels: each block sums a part of the elements in fp64,
// then one block adds the parts in a fixed order. Backward: one number for all elements; the step's
// factor is read on the device, as a captured graph replays with new numbers.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/mean_loss/mean_loss.h"
#include "kernels/sample_share.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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

template <typename T>
class MeanLossCudaKernel : public Kernel {
 public:
  explicit MeanLossCudaKernel(const KernelRequest& request)
      : n_(request.inputs[0].shape.elements()),
        share_(sample_share(request.inputs[0])),
        // At least two packs a thread, so that few blocks suffice for small tensors.
        parts_(static_cast<int>(
            smaller(larger<int64_t>(n_ / (block_threads * 2 * N), 1), mean_loss_parts))) {}

  size_t workspace_bytes() const override { return static_cast<size_t>(parts_) * sizeof(double); }

  void run(const KernelArgs& args) override {
    auto parts = static_cast<double*>(args.workspace);
    launch(mean_loss_parts_kernel<N, T>, static_cast<unsigned>(parts_), block_threads, args.stream,
           n_, static_cast<const T*>(args.inputs[0]), parts);
    launch(mean_loss_total_kernel, 1, block_threads, args.stream, parts_, parts, share_,
           static_cast<double*>(args.outputs[0]));
  }

 private:
  static constexpr int N = pack_width<T>;

  int64_t n_;
  double share_;
  int parts_;
};

template <typename T>
class MeanLossBackwardCudaKernel : public Kernel {
 public:
  explicit MeanLossBackwardCudaKernel(const KernelRequest& request)
      : n_(request.inputs[0].shape.elements()),
        share_(static_cast<float>(sample_share(request.inputs[0]))) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]),
                     MeanLossGradient{share_, args.step});
  }

 private:
  int64_t n_;
  float share_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const MeanLossOp&, const KernelRequest& request) {
  return make_typed_cuda<MeanLossCudaKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const MeanLossBackwardOp&, const KernelRequest& request) {
  return make_typed_cuda<MeanLossBackwardCudaKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
