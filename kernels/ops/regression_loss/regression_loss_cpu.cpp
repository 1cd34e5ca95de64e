// Regression losses and the mean loss on the CPU. Forward: each thread sums the terms of its
// elements in fp64; the threads' sums are added in their order. Backward: elementwise.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/regression_loss/regression_loss.h"

namespace spire {

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

// Returns make(T{}, U{}) for the types of prediction and target: a target may stay fp32.
template <typename Make>
Kernel with_types(const KernelRequest& request, const Make& make) {
  return with_float_type(request.inputs[0].dtype, [&](auto p) {
    return with_float_type(request.inputs[1].dtype, [&](auto t) -> Kernel { return make(p, t); });
  });
}

template <typename T>
double sum_in_fp64(const T* x, int64_t begin, int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(static_cast<float>(x[i]));
  return sum;
}

}  // namespace

template <>
Kernel make_cpu(const RegressionLossOp& op, const KernelRequest& request) {
  return with_types(request, [&]<typename T, typename U>(T, U) {
    auto run = [a = op.attributes(), n = request.inputs[0].shape.elements(),
                share = sample_share(request.inputs[0]),
                threads = request.threads](const KernelArgs& args) {
      auto sums = sum_chunks(args.scratch<RegressionSums>(), threads, n, 4096,
                             [&](int64_t begin, int64_t end) {
                               return sum_terms(args.in<T>(0), args.in<U>(1), begin, end);
                             });
      *args.out<double>(0) = regression_loss(a, sums) * share;
      *args.out<double>(1) = sums.squared * share;
    };
    return Kernel(run, sizeof(RegressionSums) * static_cast<size_t>(request.threads));
  });
}

template <>
Kernel make_cpu(const RegressionLossBackwardOp& op, const KernelRequest& request) {
  return with_types(request, [&]<typename T, typename U>(T, U) {
    return [a = op.attributes(), n = request.inputs[0].shape.elements(),
            share = static_cast<float>(sample_share(request.inputs[0])),
            threads = request.threads](const KernelArgs& args) {
      float scale = share * args.step->loss_gradient_scale();
      with_regression(a.kind, [&](auto of_kind) {
        elementwise(threads, n, args.out<T>(0), RegressionGradient<of_kind()>(a, scale),
                    args.in<T>(0), args.in<U>(1));
      });
    };
  });
}

template <>
Kernel make_cpu(const MeanLossOp&, const KernelRequest& request) {
  size_t bytes = sizeof(double) * static_cast<size_t>(request.threads);
  int64_t n = request.inputs[0].shape.elements();
  auto share = sample_share(request.inputs[0]);
  int threads = request.threads;
  return cpu_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    auto of_chunk = [&](int64_t begin, int64_t end) {
      return sum_in_fp64(args.in<T>(0), begin, end);
    };
    *args.out<double>(0) = sum_chunks(args.scratch<double>(), threads, n, 4096, of_chunk) * share;
  });
}

template <>
Kernel make_cpu(const MeanLossBackwardOp&, const KernelRequest& request) {
  int64_t n = request.inputs[0].shape.elements();
  auto share = static_cast<float>(sample_share(request.inputs[0]));
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto dx = args.out<T>(0);
    T value(share * args.step->loss_gradient_scale());
    parallel_for(threads, n, 4096,
                 [&](int64_t begin, int64_t end, int) { std::fill(dx + begin, dx + end, value); });
  });
}

}  // namespace spire
