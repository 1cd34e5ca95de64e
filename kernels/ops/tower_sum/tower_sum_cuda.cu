// Sum over a single tower on a GPU: a copy.
#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/tower_sum/tower_sum.h"

namespace spire {

namespace {

__global__ void __launch_bounds__(block_threads)
    copy_kernel(int64_t n, const double* from, double* to) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) to[i] = from[i];
}

}  // namespace

// A single tower's sum is its own terms.
template <>
Kernel make_cuda(const TowerSumOp&, const KernelRequest& request) {
  return [n = request.inputs[0].shape.elements()](const KernelArgs& args) {
    launch(copy_kernel, blocks_for(n, block_threads), block_threads, args.stream, n,
           args.in<double>(0), args.out<double>(0));
  };
}

}  // namespace spire
