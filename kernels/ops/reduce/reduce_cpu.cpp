// Sums over an axis on the CPU. Threads share the elements of y; each is one thread's sum.
// Backward: threads share the rows of dx.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/elementwise/activation.h"
#include "kernels/ops/reduce/reduce.h"

namespace spire {

namespace {

constexpr int64_t reduce_block = 256;  // sums that stay in the first-level cache

template <typename T>
T sum_row(const ReduceExtents& e, const T* x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t l = 0; l < e.length; ++l) sum += static_cast<double>(static_cast<float>(x[l]));
  return T(static_cast<float>(sum * e.factor));
}

// y[begin, end), a block of adjacent elements of one outer index at a time.
template <typename T>
void sum_columns(const ReduceExtents& e, const T* x, int64_t begin, int64_t end, T* y) {
  while (begin < end) {
    int64_t outer = begin / e.inner, i = begin % e.inner;
    int64_t n = std::min({reduce_block, e.inner - i, end - begin});
    double sums[reduce_block] = {};
    for (int64_t l = 0; l < e.length; ++l) {
      const T* row = x + (outer * e.length + l) * e.inner + i;
      for (int64_t k = 0; k < n; ++k) sums[k] += static_cast<double>(static_cast<float>(row[k]));
    }
    for (int64_t k = 0; k < n; ++k) y[begin + k] = T(static_cast<float>(sums[k] * e.factor));
    begin += n;
  }
}

}  // namespace

template <>
Kernel make_cpu(const ReduceOp& op, const KernelRequest& request) {
  auto e = reduce_extents(request.inputs[0].shape, op.attributes());
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto x = args.in<T>(0);
    auto y = args.out<T>(0);
    parallel_for(threads, e.outer * e.inner, 64, [&](int64_t begin, int64_t end, int) {
      if (e.inner == 1) {
        for (int64_t row = begin; row < end; ++row) y[row] = sum_row(e, x + row * e.length);
      } else {
        sum_columns(e, x, begin, end, y);
      }
    });
  });
}

template <>
Kernel make_cpu(const ReduceBackwardOp& op, const KernelRequest& request) {
  auto e = reduce_extents(request.outputs[0].shape, op.attributes().forward);
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    Affine scaled{.factor = static_cast<float>(e.factor), .offset = 0};
    int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(e.inner, 1));
    parallel_for(threads, e.outer * e.length, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        elementwise_range(
            0, e.inner, args.out<T>(0) + row * e.inner, [=](auto v) { return scaled.value(v); },
            args.in<T>(0) + row / e.length * e.inner);
    });
  });
}

// A single tower's sum is its own terms.
template <>
Kernel make_cpu(const TowerSumOp&, const KernelRequest& request) {
  return [bytes = request.inputs[0].bytes()](const KernelArgs& args) {
    std::memcpy(args.outputs[0], args.inputs[0], bytes);
  };
}

}  // namespace spire
