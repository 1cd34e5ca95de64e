// The exact cross entropy on a GPU: a thread a row, then one block adds the rows' losses, which are
// multiples of one number: in any order.
#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"

namespace spire::inline kernels {

namespace {

constexpr int exact_cross_entropy_threads = 64, exact_totals_threads = 256;

// losses (2, rows): the loss of each row, and 1 if it is correct.
__global__ void __launch_bounds__(exact_cross_entropy_threads)
    exact_cross_entropy_kernel(int64_t rows, int64_t classes, const float* __restrict__ logits,
                               LabelTargets targets, SoftmaxCrossEntropyAttributes attributes,
                               double* __restrict__ losses, float* __restrict__ logsumexp) {
  int64_t row = int64_t{blockIdx.x} * exact_cross_entropy_threads + threadIdx.x;
  if (row >= rows) return;
  ExactSoftmaxRow softmax(logits + row * classes, classes);
  ExactLoss one = softmax.loss(targets.of(row), static_cast<double>(attributes.label_smoothing),
                               static_cast<double>(attributes.weight));
  losses[row] = one.loss;
  losses[rows + row] = one.correct;
  logsumexp[row] = static_cast<float>(one.logsumexp);
}

__global__ void __launch_bounds__(exact_totals_threads)
    exact_loss_totals_kernel(int64_t rows, const double* __restrict__ losses, double* loss,
                             double* correct) {
  double sums[2] = {};
  for (int64_t row = threadIdx.x; row < rows; row += exact_totals_threads) {
    sums[0] += losses[row];
    sums[1] += losses[rows + row];
  }
  for (double& sum : sums) sum = block_reduce<exact_totals_threads>(sum, Sum{});
  if (threadIdx.x != 0) return;
  *loss = sums[0];
  *correct = sums[1];
}

__global__ void __launch_bounds__(exact_cross_entropy_threads)
    exact_cross_entropy_backward_kernel(int64_t rows, int64_t classes,
                                        const float* __restrict__ logits, LabelTargets targets,
                                        SoftmaxCrossEntropyAttributes attributes,
                                        const StepContext* step, float* __restrict__ dx) {
  int64_t row = int64_t{blockIdx.x} * exact_cross_entropy_threads + threadIdx.x;
  if (row >= rows) return;
  ExactSoftmaxRow softmax(logits + row * classes, classes);
  LabelTarget target = targets.of(row);
  auto smoothing = static_cast<double>(attributes.label_smoothing);
  double scale =
      static_cast<double>(attributes.weight) * static_cast<double>(step->loss_gradient_scale());
  for (int64_t c = 0; c < classes; ++c)
    dx[row * classes + c] = softmax.gradient(c, target, smoothing, scale);
}

class ExactCrossEntropyCudaKernel : public Kernel {
 public:
  ExactCrossEntropyCudaKernel(const ExactCrossEntropyOp& op, const KernelRequest& request)
      : attributes_(op.attributes()),
        rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]) {}

  size_t workspace_bytes() const override {
    return 2 * static_cast<size_t>(rows_) * sizeof(double);
  }

  void run(const KernelArgs& args) override {
    auto* losses = static_cast<double*>(args.workspace);
    LabelTargets targets(attributes_, classes_, args.inputs, 2);
    launch(exact_cross_entropy_kernel, blocks_for(rows_, exact_cross_entropy_threads),
           exact_cross_entropy_threads, args.stream, rows_, classes_,
           static_cast<const float*>(args.inputs[0]), targets, attributes_, losses,
           static_cast<float*>(args.outputs[2]));
    launch(exact_loss_totals_kernel, 1u, exact_totals_threads, args.stream, rows_, losses,
           static_cast<double*>(args.outputs[0]), static_cast<double*>(args.outputs[1]));
  }

 private:
  SoftmaxCrossEntropyAttributes attributes_;
  int64_t rows_, classes_;
};

class ExactCrossEntropyBackwardCudaKernel : public Kernel {
 public:
  ExactCrossEntropyBackwardCudaKernel(const ExactCrossEntropyBackwardOp& op,
                                      const KernelRequest& request)
      : attributes_(op.attributes()),
        rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]) {}

  void run(const KernelArgs& args) override {
    LabelTargets targets(attributes_, classes_, args.inputs, 2);
    launch(exact_cross_entropy_backward_kernel, blocks_for(rows_, exact_cross_entropy_threads),
           exact_cross_entropy_threads, args.stream, rows_, classes_,
           static_cast<const float*>(args.inputs[0]), targets, attributes_, args.step,
           static_cast<float*>(args.outputs[0]));
  }

 private:
  SoftmaxCrossEntropyAttributes attributes_;
  int64_t rows_, classes_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const ExactCrossEntropyOp& op, const KernelRequest& request) {
  return std::make_unique<ExactCrossEntropyCudaKernel>(op, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const ExactCrossEntropyBackwardOp& op,
                                  const KernelRequest& request) {
  return std::make_unique<ExactCrossEntropyBackwardCudaKernel>(op, request);
}

}  // namespace spire::inline kernels
