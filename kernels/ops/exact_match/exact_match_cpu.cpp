// Exact matches on the CPU: threads share the samples.
#include "kernels/cpu/parallel.h"
#include "kernels/ops/exact_match/exact_match.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class ExactMatchCpuKernel : public Kernel {
 public:
  explicit ExactMatchCpuKernel(const KernelRequest& request)
      : samples_(request.inputs[0].shape[0]),
        labels_(request.inputs[0].shape[1]),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto outputs = static_cast<const T*>(args.inputs[0]);
    auto labels = static_cast<const float*>(args.inputs[1]);
    auto matches = static_cast<float*>(args.outputs[0]);
    parallel_for(threads_, samples_, 64, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n)
        matches[n] = exact_match(outputs + n * labels_, labels + n * labels_, labels_);
    });
  }

 private:
  int64_t samples_, labels_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ExactMatchOp&, const KernelRequest& request) {
  return make_typed<ExactMatchCpuKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
