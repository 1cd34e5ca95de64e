// Regression losses on the CPU. Forward: each thread sums |d| and d^2 of its elements in fp64; the
// threads' sums are added in their order. Backward: elementwise.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/sample_share.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

// Sums |p - t| and (p - t)^2 of elements [begin, end). Terms are fp32, their sums fp64, a partial
// sum for each SIMD lane.
template <typename T, typename U>
RegressionSums sum_terms(const T* p, const U* t, int64_t begin, int64_t end) {
  double absolute = 0, squared = 0;
#pragma omp simd reduction(+ : absolute, squared)
  for (int64_t i = begin; i < end; ++i) {
    float d = static_cast<float>(p[i]) - static_cast<float>(t[i]);
    absolute += static_cast<double>(std::abs(d));
    squared += static_cast<double>(d * d);
  }
  return {absolute, squared};
}

template <typename T, typename U>  // of prediction and target
class RegressionLossCpuKernel : public Kernel {
 public:
  RegressionLossCpuKernel(const RegressionLossOp& op, const KernelRequest& request)
      : kind_(op.kind()),
        weights_(op.weights()),
        n_(request.inputs[0].shape.elements()),
        share_(sample_share(request.inputs[0])),
        threads_(request.threads) {}

  size_t workspace_bytes() const override {
    return sizeof(RegressionSums) * static_cast<size_t>(threads_);
  }

  void run(const KernelArgs& args) override {
    auto p = static_cast<const T*>(args.inputs[0]);
    auto t = static_cast<const U*>(args.inputs[1]);
    auto partial = static_cast<RegressionSums*>(args.workspace);
    std::fill_n(partial, threads_, RegressionSums{});
    parallel_for(threads_, n_, 4096, [&](int64_t begin, int64_t end, int chunk) {
      partial[chunk] = sum_terms(p, t, begin, end);
    });
    // In the chunks' order, so that the bits do not depend on which thread is first.
    RegressionSums sums;
    for (int chunk = 0; chunk < threads_; ++chunk) {
      sums.absolute += partial[chunk].absolute;
      sums.squared += partial[chunk].squared;
    }
    *static_cast<double*>(args.outputs[0]) = regression_loss(kind_, weights_, sums) * share_;
    *static_cast<double*>(args.outputs[1]) = sums.squared * share_;
  }

 private:
  Regression kind_;
  RegressionWeights weights_;
  int64_t n_;
  double share_;
  int threads_;
};

template <typename T, typename U>
class RegressionLossBackwardCpuKernel : public Kernel {
 public:
  RegressionLossBackwardCpuKernel(const RegressionLossBackwardOp& op, const KernelRequest& request)
      : kind_(op.kind()),
        weights_(op.weights()),
        n_(request.inputs[0].shape.elements()),
        share_(static_cast<float>(sample_share(request.inputs[0]))),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    float scale = share_ * args.step->loss_gradient_scale();
    with_regression(kind_, [&](auto kind) {
      elementwise(threads_, n_, static_cast<T*>(args.outputs[0]),
                  RegressionGradient<kind()>(weights_, scale),
                  static_cast<const T*>(args.inputs[0]), static_cast<const U*>(args.inputs[1]));
    });
  }

 private:
  Regression kind_;
  RegressionWeights weights_;
  int64_t n_;
  float share_;
  int threads_;
};

// Calls make(T{}, U{}) with the types of prediction and target: a target may stay fp32.
template <typename Make>
std::unique_ptr<Kernel> with_types(const KernelRequest& request, const Make& make) {
  return with_float_type(request.inputs[0].dtype, [&](auto p) {
    return with_float_type(request.inputs[1].dtype, [&](auto t) { return make(p, t); });
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const RegressionLossOp& op, const KernelRequest& request) {
  return with_types(request, [&](auto p, auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<RegressionLossCpuKernel<decltype(p), decltype(t)>>(op, request);
  });
}

template <>
std::unique_ptr<Kernel> make_cpu(const RegressionLossBackwardOp& op, const KernelRequest& request) {
  return with_types(request, [&](auto p, auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<RegressionLossBackwardCpuKernel<decltype(p), decltype(t)>>(op, request);
  });
}

}  // namespace spire::inline kernels
