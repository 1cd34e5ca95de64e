#include <algorithm>
#include <cmath>

#include <spire/kernels/elementwise_cpu.h>
#include <spire/kernels/float_type.h>
#include <spire/kernels/parallel.h>
#include <spire/kernels/regression_loss.h>

namespace spire {

namespace {

// 1 / F for inputs (N, ...).
double share_of(const TensorSpec& spec) {
  return static_cast<double>(std::max<int64_t>(spec.shape[0], 1)) /
         static_cast<double>(std::max<int64_t>(spec.shape.elements(), 1));
}

template <typename T, typename Term>
double sum_terms(const T* p, const T* t, int64_t begin, int64_t end, Term term) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) {
    sum += static_cast<double>(term(static_cast<float>(p[i]) - static_cast<float>(t[i])));
  }
  return sum;
}

template <typename T>
class ForwardKernel : public Kernel {
 public:
  ForwardKernel(Regression kind, const KernelRequest& request)
      : kind_(kind),
        n_(request.inputs[0].shape.elements()),
        share_(share_of(request.inputs[0])),
        threads_(request.threads) {}

  size_t workspace_bytes() const override { return sizeof(double) * static_cast<size_t>(threads_); }

  void run(const KernelArgs& args) override {
    auto p = static_cast<const T*>(args.inputs[0]), t = static_cast<const T*>(args.inputs[1]);
    auto partial = static_cast<double*>(args.workspace);
    std::fill_n(partial, threads_, 0.0);
    parallel_for(threads_, n_, 4096, [&](int64_t begin, int64_t end, int chunk) {
      partial[chunk] = kind_ == Regression::mse
                           ? sum_terms(p, t, begin, end, [](float d) { return d * d; })
                           : sum_terms(p, t, begin, end, [](float d) { return std::abs(d); });
    });
    double sum = 0;
    for (int chunk = 0; chunk < threads_; ++chunk) sum += partial[chunk];
    *static_cast<double*>(args.outputs[0]) = sum * share_;
  }

 private:
  Regression kind_;
  int64_t n_;
  double share_;
  int threads_;
};

template <typename T>
class BackwardKernel : public Kernel {
 public:
  BackwardKernel(Regression kind, const KernelRequest& request)
      : kind_(kind),
        n_(request.inputs[0].shape.elements()),
        share_(static_cast<float>(share_of(request.inputs[0]))),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    float scale = share_ * args.step->gradient_scale;
    if (kind_ == Regression::mse) {
      write(args, [scale](auto p, auto t) { return 2 * (p - t) * scale; });
    } else {
      write(args, [scale](float p, float t) { return p > t ? scale : p < t ? -scale : p - t; });
    }
  }

 private:
  template <typename F>
  void write(const KernelArgs& args, F f) const {
    elementwise(threads_, n_, static_cast<T*>(args.outputs[0]), f,
                static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

  Regression kind_;
  int64_t n_;
  float share_;
  int threads_;
};

}  // namespace

std::unique_ptr<Kernel> make_regression_loss_cpu(const Op& op, const KernelRequest& request) {
  auto kind = static_cast<const RegressionLossOp&>(op).kind();
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<ForwardKernel<decltype(type)>>(kind, request);
  });
}

std::unique_ptr<Kernel> make_regression_loss_backward_cpu(const Op& op,
                                                          const KernelRequest& request) {
  auto kind = static_cast<const RegressionLossBackwardOp&>(op).kind();
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<BackwardKernel<decltype(type)>>(kind, request);
  });
}

}  // namespace spire
