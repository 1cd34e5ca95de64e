// Rounded gradients on a GPU: a thread an entry. Which tower it is comes with the step.
#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_gradient/exact_gradient.h"

namespace spire {

namespace {

__global__ void __launch_bounds__(block_threads)
    exact_gradient_kernel(ExactGradient gradient, int64_t count, int64_t biases,
                          const double* __restrict__ total, const StepContext* step,
                          float* __restrict__ dw, float* __restrict__ db) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  bool first = step->first_row == 0;
  int64_t row = i / gradient.outputs, o = i % gradient.outputs;
  if (i < count) dw[gradient.index(row, o)] = first ? gradient.weight(total, row, o) : 0.0f;
  if (i < biases) db[i] = first ? gradient.bias(total, i) : 0.0f;
}

}  // namespace

template <>
Kernel make_cuda(const ExactGradientOp& op, const KernelRequest&) {
  ExactGradient gradient = exact_gradient(op.weights());
  int64_t count = op.weights().elements();  // there are at least as many weights as biases
  return [=, biases = op.bias() ? gradient.outputs : 0](const KernelArgs& args) {
    launch(exact_gradient_kernel, blocks_for(count, block_threads), block_threads, args.stream,
           gradient, count, biases, args.in<double>(0), args.step, args.out<float>(0),
           biases > 0 ? args.out<float>(1) : nullptr);
  };
}

}  // namespace spire
