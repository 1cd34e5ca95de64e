// Sum over a single tower on a GPU: a copy.
#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/tower_sum/tower_sum.h"

namespace spire::inline kernels {

namespace {

__global__ void __launch_bounds__(block_threads)
    copy_kernel(int64_t n, const double* from, double* to) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) to[i] = from[i];
}

// A single tower's sum is its own terms.
class TowerSumCudaKernel : public Kernel {
 public:
  explicit TowerSumCudaKernel(int64_t n) : n_(n) {}
  void run(const KernelArgs& args) override {
    launch(copy_kernel, blocks_for(n_, block_threads), block_threads, args.stream, n_,
           static_cast<const double*>(args.inputs[0]), static_cast<double*>(args.outputs[0]));
  }

 private:
  int64_t n_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const TowerSumOp&, const KernelRequest& request) {
  return std::make_unique<TowerSumCudaKernel>(request.inputs[0].shape.elements());
}

}  // namespace spire::inline kernels
