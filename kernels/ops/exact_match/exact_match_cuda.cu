// Exact matches on a GPU: a thread a sample, as labels are few.
#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_match/exact_match.h"

namespace spire {

namespace {

template <typename T>
__global__ void __launch_bounds__(block_threads)
    exact_match_kernel(int64_t samples, int64_t count, const T* __restrict__ outputs,
                       const float* __restrict__ labels, float* __restrict__ matches) {
  int64_t n = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n < samples) matches[n] = exact_match(outputs + n * count, labels + n * count, count);
}

}  // namespace

template <>
Kernel make_cuda(const ExactMatchOp&, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    return [samples = request.inputs[0].shape[0],
            labels = request.inputs[0].shape[1]](const KernelArgs& args) {
      launch(exact_match_kernel<T>, blocks_for(samples, block_threads), block_threads, args.stream,
             samples, labels, args.in<T>(0), args.in<float>(1), args.out<float>(0));
    };
  });
}

}  // namespace spire
