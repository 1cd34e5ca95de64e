// One-hot rows on the CPU: threads share the rows.
#include <algorithm>
#include <limits>

#include "kernels/cpu/parallel.h"
#include "kernels/ops/one_hot/one_hot.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class OneHotCpuKernel : public Kernel {
 public:
  OneHotCpuKernel(const OneHotOp& op, const KernelRequest& request)
      : weights_(op.attributes().weights),
        rows_(request.outputs[0].shape[0]),
        classes_(request.outputs[0].shape[1]),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto labels = static_cast<const int32_t*>(args.inputs[0]);
    auto rows = static_cast<T*>(args.outputs[0]);
    parallel_for(threads_, rows_, 64, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        T* row = rows + n * classes_;
        // A label that is no class makes NaN: the loss shows it, where an exception could not pass.
        bool valid = labels[n] >= 0 && labels[n] < classes_;
        std::fill_n(row, classes_, valid ? T(0.0f) : T(std::numeric_limits<float>::quiet_NaN()));
        if (!valid) continue;
        row[labels[n]] = weights_.empty() ? 1.0f : weights_[static_cast<size_t>(labels[n])];
      }
    });
  }

 private:
  std::vector<float> weights_;
  int64_t rows_, classes_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const OneHotOp& op, const KernelRequest& request) {
  return make_typed<OneHotCpuKernel>(request.outputs[0].dtype, op, request);
}

}  // namespace spire::inline kernels
