// Regression losses on a GPU. Forward in two kernels: each block sums |d| and d^2 of a part of the
// elements in fp64, then one block adds the parts in a fixed order. Backward: elementwise; the
// step's factor is read on the device, as a captured graph replays with new numbers.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/sample_share.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t regression_parts = 1024;

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
    regression_totals_kernel(int count, const RegressionSums* parts, Regression kind,
                             RegressionWeights weights, double share, double* loss,
                             double* squares) {
  RegressionSums sums;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads) {
    sums.absolute += parts[i].absolute;
    sums.squared += parts[i].squared;
  }
  sums = add_block(sums);
  if (threadIdx.x != 0) return;
  *loss = regression_loss(kind, weights, sums) * share;
  *squares = sums.squared * share;
}

// The gradient, with the factor of the step that runs.
struct RegressionStepGradient {
  Regression kind;
  RegressionWeights weights;
  float share;
  const StepContext* step;

  __device__ float operator()(float p, float t) const {
    float scale = share * step->loss_gradient_scale();
    if (kind == Regression::mse) return RegressionGradient<Regression::mse>(weights, scale)(p, t);
    if (kind == Regression::l1) return RegressionGradient<Regression::l1>(weights, scale)(p, t);
    return RegressionGradient<Regression::l1_l2>(weights, scale)(p, t);
  }
};

template <typename T, typename U>  // of prediction and target
class RegressionLossCudaKernel : public Kernel {
 public:
  RegressionLossCudaKernel(const RegressionLossOp& op, const KernelRequest& request)
      : kind_(op.kind()),
        weights_(op.weights()),
        n_(request.inputs[0].shape.elements()),
        share_(sample_share(request.inputs[0])),
        // At least two packs a thread, so that few blocks suffice for small tensors.
        parts_(static_cast<int>(
            smaller(larger<int64_t>(n_ / (block_threads * 2 * N), 1), regression_parts))) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(parts_) * sizeof(RegressionSums);
  }

  void run(const KernelArgs& args) override {
    auto parts = static_cast<RegressionSums*>(args.workspace);
    launch(regression_parts_kernel<N, T, U>, static_cast<unsigned>(parts_), block_threads,
           args.stream, n_, static_cast<const T*>(args.inputs[0]),
           static_cast<const U*>(args.inputs[1]), parts);
    launch(regression_totals_kernel, 1, block_threads, args.stream, parts_, parts, kind_, weights_,
           share_, static_cast<double*>(args.outputs[0]), static_cast<double*>(args.outputs[1]));
  }

 private:
  static constexpr int N = smaller(pack_width<T>, pack_width<U>);

  Regression kind_;
  RegressionWeights weights_;
  int64_t n_;
  double share_;
  int parts_;
};

template <typename T, typename U>
class RegressionLossBackwardCudaKernel : public Kernel {
 public:
  RegressionLossBackwardCudaKernel(const RegressionLossBackwardOp& op, const KernelRequest& request)
      : kind_(op.kind()),
        weights_(op.weights()),
        n_(request.inputs[0].shape.elements()),
        share_(static_cast<float>(sample_share(request.inputs[0]))) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]),
                     RegressionStepGradient{kind_, weights_, share_, args.step},
                     static_cast<const T*>(args.inputs[0]), static_cast<const U*>(args.inputs[1]));
  }

 private:
  Regression kind_;
  RegressionWeights weights_;
  int64_t n_;
  float share_;
};

template <template <typename, typename> class K, typename SomeOp>
std::unique_ptr<Kernel> make_regression(const SomeOp& op, const KernelRequest& request) {
  return with_cuda_float_type(request.inputs[0].dtype, [&](auto p) {
    return with_cuda_float_type(request.inputs[1].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
      return std::make_unique<K<decltype(p), decltype(t)>>(op, request);
    });
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const RegressionLossOp& op, const KernelRequest& request) {
  return make_regression<RegressionLossCudaKernel>(op, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const RegressionLossBackwardOp& op,
                                  const KernelRequest& request) {
  return make_regression<RegressionLossBackwardCudaKernel>(op, request);
}

}  // namespace spire::inline kernels
