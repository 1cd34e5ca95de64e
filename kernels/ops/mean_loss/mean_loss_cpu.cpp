// The mean loss on the CPU. Forward: each thread sums its elements in fp64; the threads' sums are
// added in their order. Backward: one number for all elements.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/mean_loss/mean_loss.h"
#include "kernels/sample_share.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
double sum_in_fp64(const T* x, int64_t begin, int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(static_cast<float>(x[i]));
  return sum;
}

template <typename T>
class MeanLossCpuKernel : public Kernel {
 public:
  explicit MeanLossCpuKernel(const KernelRequest& request)
      : n_(request.inputs[0].shape.elements()),
        share_(sample_share(request.inputs[0])),
        threads_(request.threads) {}

  size_t workspace_bytes() const override { return sizeof(double) * static_cast<size_t>(threads_); }

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto partial = static_cast<double*>(args.workspace);
    std::fill_n(partial, threads_, 0.0);
    parallel_for(threads_, n_, 4096, [&](int64_t begin, int64_t end, int chunk) {
      partial[chunk] = sum_in_fp64(x, begin, end);
    });
    double sum = 0;
    for (int chunk = 0; chunk < threads_; ++chunk) sum += partial[chunk];
    *static_cast<double*>(args.outputs[0]) = sum * share_;
  }

 private:
  int64_t n_;
  double share_;
  int threads_;
};

template <typename T>
class MeanLossBackwardCpuKernel : public Kernel {
 public:
  explicit MeanLossBackwardCpuKernel(const KernelRequest& request)
      : n_(request.inputs[0].shape.elements()),
        share_(static_cast<float>(sample_share(request.inputs[0]))),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto dx = static_cast<T*>(args.outputs[0]);
    T value(share_ * args.step->loss_gradient_scale());
    parallel_for(threads_, n_, 4096,
                 [&](int64_t begin, int64_t end, int) { std::fill(dx + begin, dx + end, value); });
  }

 private:
  int64_t n_;
  float share_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const MeanLossOp&, const KernelRequest& request) {
  return make_typed<MeanLossCpuKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const MeanLossBackwardOp&, const KernelRequest& request) {
  return make_typed<MeanLossBackwardCpuKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
