// Rounded gradients on the CPU: threads share the entries.
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_gradient/exact_gradient.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t grain = 1024;

class ExactGradientCpuKernel : public Kernel {
 public:
  ExactGradientCpuKernel(const ExactGradientOp& op, int threads)
      : gradient_(exact_gradient(op.weights())),
        count_(op.weights().elements()),
        bias_(op.bias()),
        threads_(threads) {}

  void run(const KernelArgs& args) override {
    auto* total = static_cast<const double*>(args.inputs[0]);
    bool first = args.step->first_row == 0;
    auto* dw = static_cast<float*>(args.outputs[0]);
    parallel_for(threads_, count_, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) dw[i] = first ? gradient_.weight(total, i) : 0.0f;
    });
    if (!bias_) return;
    auto* db = static_cast<float*>(args.outputs[1]);
    for (int64_t o = 0; o < gradient_.outputs; ++o) db[o] = first ? gradient_.bias(total, o) : 0.0f;
  }

 private:
  ExactGradient gradient_;
  int64_t count_;
  bool bias_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ExactGradientOp& op, const KernelRequest& request) {
  return std::make_unique<ExactGradientCpuKernel>(op, request.threads);
}

}  // namespace spire::inline kernels
