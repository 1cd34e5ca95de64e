// Rounded gradients on a GPU: a thread an entry. Which tower it is comes with the step.
#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_gradient/exact_gradient.h"

namespace spire::inline kernels {

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

class ExactGradientCudaKernel : public Kernel {
 public:
  explicit ExactGradientCudaKernel(const ExactGradientOp& op)
      : gradient_(exact_gradient(op.weights())),
        count_(op.weights().elements()),
        biases_(op.bias() ? gradient_.outputs : 0) {}

  void run(const KernelArgs& args) override {
    auto* db = biases_ > 0 ? static_cast<float*>(args.outputs[1]) : nullptr;
    launch(exact_gradient_kernel, blocks_for(count_, block_threads), block_threads, args.stream,
           gradient_, count_, biases_, static_cast<const double*>(args.inputs[0]), args.step,
           static_cast<float*>(args.outputs[0]), db);
  }

 private:
  ExactGradient gradient_;
  int64_t count_, biases_;  // there are at least as many weights
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const ExactGradientOp& op, const KernelRequest&) {
  return std::make_unique<ExactGradientCudaKernel>(op);
}

}  // namespace spire::inline kernels
