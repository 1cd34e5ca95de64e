// The exact cross entropy on a GPU: a thread a row, then one block adds the rows' losses, which are
// multiples of one number: in any order.
#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"

namespace spire {

namespace {

constexpr int exact_cross_entropy_threads = 64, exact_totals_threads = 256;

// losses (2, rows): the loss of each row, and 1 if it is correct.
__global__ void __launch_bounds__(exact_cross_entropy_threads)
    exact_cross_entropy_kernel(int64_t rows, int64_t classes, const float* __restrict__ logits,
                               LabelTargets targets, SoftmaxCrossEntropyAttributes attributes,
                               double* __restrict__ losses) {
  int64_t row = int64_t{blockIdx.x} * exact_cross_entropy_threads + threadIdx.x;
  if (row >= rows) return;
  ExactSoftmaxRow softmax(logits + row * classes, classes);
  ExactLoss one = softmax.loss(targets.of(row), static_cast<double>(attributes.label_smoothing),
                               static_cast<double>(attributes.weight));
  losses[row] = one.loss;
  losses[rows + row] = one.correct;
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

}  // namespace

template <>
Kernel make_cuda(const ExactCrossEntropyOp& op, const KernelRequest& request) {
  int64_t rows = request.inputs[0].shape[0], classes = request.inputs[0].shape[1];
  auto run = [=, attributes = op.attributes()](const KernelArgs& args) {
    auto losses = args.scratch<double>();
    LabelTargets targets(attributes, classes, args.inputs);
    launch(exact_cross_entropy_kernel, blocks_for(rows, exact_cross_entropy_threads),
           exact_cross_entropy_threads, args.stream, rows, classes, args.in<float>(0), targets,
           attributes, losses);
    launch(exact_loss_totals_kernel, 1u, exact_totals_threads, args.stream, rows, losses,
           args.out<double>(0), args.out<double>(1));
  };
  return Kernel(run, 2 * static_cast<size_t>(rows) * sizeof(double));
}

template <>
Kernel make_cuda(const ExactCrossEntropyBackwardOp& op, const KernelRequest& request) {
  int64_t rows = request.inputs[0].shape[0], classes = request.inputs[0].shape[1];
  return [=, attributes = op.attributes()](const KernelArgs& args) {
    LabelTargets targets(attributes, classes, args.inputs);
    launch(exact_cross_entropy_backward_kernel, blocks_for(rows, exact_cross_entropy_threads),
           exact_cross_entropy_threads, args.stream, rows, classes, args.in<float>(0), targets,
           attributes, args.step, args.out<float>(0));
  };
}

}  // namespace spire
