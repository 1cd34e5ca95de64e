// Flags of exponents on the CPU: threads share a tensor's elements, and each sets its largest
// one's.
#include <algorithm>

#include "kernels/cpu/largest_exponent.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_range/exact_range.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t range_grain = 4096;

class ExactRangeCpuKernel : public Kernel {
 public:
  explicit ExactRangeCpuKernel(const KernelRequest& request) : threads_(request.threads) {
    for (const TensorSpec& input : request.inputs) counts_.push_back(input.shape.elements());
  }

  size_t workspace_bytes() const override { return sizeof(int) * static_cast<size_t>(threads_); }

  void run(const KernelArgs& args) override {
    auto* flags = static_cast<double*>(args.outputs[0]);
    auto* largest = static_cast<int*>(args.workspace);
    std::fill_n(flags, counts_.size() * exponent_count, 0.0);
    for (size_t i = 0; i < counts_.size(); ++i, flags += exponent_count) {
      auto* x = static_cast<const float*>(args.inputs[i]);
      std::fill_n(largest, threads_, 0);
      parallel_for(threads_, counts_[i], range_grain, [&](int64_t begin, int64_t end, int chunk) {
        largest[chunk] = largest_exponent(x + begin, end - begin);
      });
      flags[*std::max_element(largest, largest + threads_)] = 1;
    }
  }

 private:
  std::vector<int64_t> counts_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ExactRangeOp&, const KernelRequest& request) {
  return std::make_unique<ExactRangeCpuKernel>(request);
}

}  // namespace spire::inline kernels
