// The mean loss on the CPU. Forward: each thread sums its elements in fp64; the threads' sums are
// added in their order. Backward: one number for all elements.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/mean_loss/mean_loss.h"
#include "kernels/sample_share.h"

namespace spire {

namespace {

template <typename T>
double sum_in_fp64(const T* x, int64_t begin, int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(static_cast<float>(x[i]));
  return sum;
}

}  // namespace

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
