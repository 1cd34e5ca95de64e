// Sums over an axis on the CPU. Threads share the elements of y; each is one thread's sum.
// Backward: threads share the rows of dx.
#include <algorithm>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class ReduceCpuKernel : public Kernel {
 public:
  ReduceCpuKernel(const ReduceAttributes& attributes, const KernelRequest& request)
      : e_(reduce_extents(request.inputs[0].shape, attributes)), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto y = static_cast<T*>(args.outputs[0]);
    parallel_for(threads_, e_.outer * e_.inner, 64, [&](int64_t begin, int64_t end, int) {
      if (e_.inner == 1) {
        for (int64_t row = begin; row < end; ++row) y[row] = sum_row(x + row * e_.length);
      } else {
        sum_columns(x, begin, end, y);
      }
    });
  }

 private:
  static constexpr int64_t block = 256;  // sums that stay in the first-level cache

  T sum_row(const T* x) const {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t l = 0; l < e_.length; ++l) sum += static_cast<double>(static_cast<float>(x[l]));
    return T(static_cast<float>(sum * e_.factor));
  }

  // y[begin, end), a block of adjacent elements of one outer index at a time.
  void sum_columns(const T* x, int64_t begin, int64_t end, T* y) const {
    while (begin < end) {
      int64_t outer = begin / e_.inner, i = begin % e_.inner;
      int64_t n = std::min({block, e_.inner - i, end - begin});
      double sums[block] = {};
      for (int64_t l = 0; l < e_.length; ++l) {
        const T* row = x + (outer * e_.length + l) * e_.inner + i;
        for (int64_t k = 0; k < n; ++k) sums[k] += static_cast<double>(static_cast<float>(row[k]));
      }
      for (int64_t k = 0; k < n; ++k) y[begin + k] = T(static_cast<float>(sums[k] * e_.factor));
      begin += n;
    }
  }

  ReduceExtents e_;
  int threads_;
};

template <typename T>
class ReduceBackwardCpuKernel : public Kernel {
 public:
  ReduceBackwardCpuKernel(const ReduceBackwardAttributes& attributes, const KernelRequest& request)
      : e_(reduce_extents(request.outputs[0].shape, attributes.forward)),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto dy = static_cast<const T*>(args.inputs[0]);
    auto dx = static_cast<T*>(args.outputs[0]);
    Affine scaled{.factor = static_cast<float>(e_.factor), .offset = 0};
    int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(e_.inner, 1));
    parallel_for(threads_, e_.outer * e_.length, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        elementwise_range(
            0, e_.inner, dx + row * e_.inner, [=](auto v) { return scaled.value(v); },
            dy + row / e_.length * e_.inner);
      }
    });
  }

 private:
  ReduceExtents e_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ReduceOp& op, const KernelRequest& request) {
  return make_typed<ReduceCpuKernel>(request.inputs[0].dtype, op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const ReduceBackwardOp& op, const KernelRequest& request) {
  return make_typed<ReduceBackwardCpuKernel>(request.inputs[0].dtype, op.attributes(), request);
}

}  // namespace spire::inline kernels
