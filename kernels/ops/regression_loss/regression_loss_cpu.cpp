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
  return with_types(request, [&](auto prediction, auto target) {
    using T = decltype(prediction);
    using U = decltype(target);
    auto run = [kind = op.kind(), weights = op.weights(), n = request.inputs[0].shape.elements(),
                share = sample_share(request.inputs[0]),
                threads = request.threads](const KernelArgs& args) {
      auto partial = args.scratch<RegressionSums>();
      std::fill_n(partial, threads, RegressionSums{});
      parallel_for(threads, n, 4096, [&](int64_t begin, int64_t end, int chunk) {
        partial[chunk] = sum_terms(args.in<T>(0), args.in<U>(1), begin, end);
      });
      // In the chunks' order, so that the bits do not depend on which thread is first.
      RegressionSums sums;
      for (int chunk = 0; chunk < threads; ++chunk) {
        sums.absolute += partial[chunk].absolute;
        sums.squared += partial[chunk].squared;
      }
      *args.out<double>(0) = regression_loss(kind, weights, sums) * share;
      *args.out<double>(1) = sums.squared * share;
    };
    return Kernel(run, sizeof(RegressionSums) * static_cast<size_t>(request.threads));
  });
}

template <>
Kernel make_cpu(const RegressionLossBackwardOp& op, const KernelRequest& request) {
  return with_types(request, [&](auto prediction, auto target) {
    using T = decltype(prediction);
    using U = decltype(target);
    return [kind = op.kind(), weights = op.weights(), n = request.inputs[0].shape.elements(),
            share = static_cast<float>(sample_share(request.inputs[0])),
            threads = request.threads](const KernelArgs& args) {
      float scale = share * args.step->loss_gradient_scale();
      with_regression(kind, [&](auto of_kind) {
        elementwise(threads, n, args.out<T>(0), RegressionGradient<of_kind()>(weights, scale),
                    args.in<T>(0), args.in<U>(1));
      });
    };
  });
}

template <>
Kernel make_cpu(const MeanLossOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    using T = decltype(type);
    auto run = [n = request.inputs[0].shape.elements(), share = sample_share(request.inputs[0]),
                threads = request.threads](const KernelArgs& args) {
      auto partial = args.scratch<double>();
      std::fill_n(partial, threads, 0.0);
      parallel_for(threads, n, 4096, [&](int64_t begin, int64_t end, int chunk) {
        partial[chunk] = sum_in_fp64(args.in<T>(0), begin, end);
      });
      double sum = 0;
      for (int chunk = 0; chunk < threads; ++chunk) sum += partial[chunk];
      *args.out<double>(0) = sum * share;
    };
    return Kernel(run, sizeof(double) * static_cast<size_t>(request.threads));
  });
}

template <>
Kernel make_cpu(const MeanLossBackwardOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    return [n = request.inputs[0].shape.elements(),
            share = static_cast<float>(sample_share(request.inputs[0])),
            threads = request.threads](const KernelArgs& args) {
      auto dx = args.out<T>(0);
      T value(share * args.step->loss_gradient_scale());
      parallel_for(threads, n, 4096, [&](int64_t begin, int64_t end, int) {
        std::fill(dx + begin, dx + end, value);
      });
    };
  });
}

}  // namespace spire
