// Flags of exponents on a GPU: each block sets the flag of its largest element. Blocks that write
// one flag write the same number.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/largest_exponent.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_range/exact_range.h"

namespace spire {

namespace {

constexpr int64_t per_block = 16 * block_threads;

__global__ void __launch_bounds__(block_threads) clear_flags_kernel(double* flags) {
  flags[blockIdx.x * exponent_count + threadIdx.x] = 0;
}

__global__ void __launch_bounds__(block_threads)
    set_flags_kernel(int64_t n, const float* __restrict__ x, double* flags) {
  int64_t begin = int64_t{blockIdx.x} * per_block, end = begin + per_block;
  end = end < n ? end : n;
  int largest = largest_exponent<block_threads>(x, begin, end);
  if (threadIdx.x == 0) flags[largest] = 1;
}

}  // namespace

template <>
Kernel make_cuda(const ExactRangeOp&, const KernelRequest& request) {
  static_assert(block_threads == exponent_count);
  std::vector<int64_t> counts;
  for (const TensorSpec& input : request.inputs) counts.push_back(input.shape.elements());
  return [counts](const KernelArgs& args) {
    auto flags = args.out<double>(0);
    launch(clear_flags_kernel, static_cast<unsigned>(counts.size()), block_threads, args.stream,
           flags);
    for (size_t i = 0; i < counts.size(); ++i, flags += exponent_count)
      launch(set_flags_kernel, blocks_for(counts[i], per_block), block_threads, args.stream,
             counts[i], args.in<float>(i), flags);
  };
}

}  // namespace spire
