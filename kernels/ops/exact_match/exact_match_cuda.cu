// Exact matches on a GPU: a thread a sample, as labels are few.
#include "engine/device/cuda_kernel.h"
#include "kernels/ops/exact_match/exact_match.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
__global__ void __launch_bounds__(block_threads)
    exact_match_kernel(int64_t samples, int64_t count, const T* __restrict__ outputs,
                       const float* __restrict__ labels, float* __restrict__ matches) {
  int64_t n = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n < samples) matches[n] = exact_match(outputs + n * count, labels + n * count, count);
}

template <typename T>
class ExactMatchCudaKernel : public Kernel {
 public:
  explicit ExactMatchCudaKernel(const KernelRequest& request)
      : samples_(request.inputs[0].shape[0]), labels_(request.inputs[0].shape[1]) {}

  void run(const KernelArgs& args) override {
    launch(exact_match_kernel<T>, blocks_for(samples_, block_threads), block_threads, args.stream,
           samples_, labels_, static_cast<const T*>(args.inputs[0]),
           static_cast<const float*>(args.inputs[1]), static_cast<float*>(args.outputs[0]));
  }

 private:
  int64_t samples_, labels_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const ExactMatchOp&, const KernelRequest& request) {
  return make_typed_cuda<ExactMatchCudaKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
