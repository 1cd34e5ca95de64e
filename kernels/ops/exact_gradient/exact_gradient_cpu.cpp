// Rounded gradients on the CPU: threads share the entries.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_gradient/exact_gradient.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t outputs_at_a_time = 8;

class ExactGradientCpuKernel : public Kernel {
 public:
  ExactGradientCpuKernel(const ExactGradientOp& op, int threads)
      : gradient_(exact_gradient(op.weights())), bias_(op.bias()), threads_(threads) {}

  void run(const KernelArgs& args) override {
    auto* total = static_cast<const double*>(args.inputs[0]);
    bool first = args.step->first_row == 0;
    auto* dw = static_cast<float*>(args.outputs[0]);
    if (first) {
      write_weights(total, dw);
    } else {
      std::fill_n(dw, gradient_.weights(), 0.0f);
    }
    if (!bias_) return;
    auto* db = static_cast<float*>(args.outputs[1]);
    for (int64_t o = 0; o < gradient_.outputs; ++o) db[o] = first ? gradient_.bias(total, o) : 0.0f;
  }

 private:
  // The totals of some outputs at a time, which lie beside each other.
  void write_weights(const double* total, float* dw) const {
    int64_t rows = gradient_.taps * gradient_.inputs;
    parallel_for(threads_, gradient_.outputs, outputs_at_a_time,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t o = begin; o < end; o += outputs_at_a_time) {
                     int64_t last = std::min(end, o + outputs_at_a_time);
                     for (int64_t row = 0; row < rows; ++row)
                       for (int64_t n = o; n < last; ++n)
                         dw[gradient_.index(row, n)] = gradient_.weight(total, row, n);
                   }
                 });
  }

  ExactGradient gradient_;
  bool bias_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ExactGradientOp& op, const KernelRequest& request) {
  return std::make_unique<ExactGradientCpuKernel>(op, request.threads);
}

}  // namespace spire::inline kernels
