// Softmax on the CPU: threads share the rows. A row is read from memory once; later passes over it
// find it in the cache.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/kernel.h"
#include "kernels/ops/softmax/softmax.h"

namespace spire {

namespace {

struct SoftmaxRows {
  explicit SoftmaxRows(const KernelRequest& request)
      : width(request.inputs[0].shape.back()),
        rows(request.inputs[0].shape.elements() / std::max<int64_t>(width, 1)),
        threads(request.threads) {}

  // Calls body(offset) with the first element of each row.
  template <typename Body>
  void over(const Body& body) const {
    int64_t grain = std::max<int64_t>(1, 1024 / std::max<int64_t>(width, 1));
    parallel_for(threads, rows, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) body(row * width);
    });
  }

  int64_t width, rows;
  int threads;
};

// y may be x.
template <typename F, typename T>
void soften_row(int64_t width, const T* x, T* y) {
  float most = largest_of_row(x, width);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < width; ++c)
    sum += static_cast<double>(Exp{}.value(static_cast<float>(x[c]) - most));
  float row = F::row_term(sum);
#pragma omp simd
  for (int64_t c = 0; c < width; ++c) y[c] = T(F::value(static_cast<float>(x[c]) - most, row));
}

// dx may be dy or y.
template <typename F, typename T>
void differentiate_softmax_row(int64_t width, const T* dy, const T* y, T* dx) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < width; ++c)
    sum += static_cast<double>(F::term(static_cast<float>(dy[c]), static_cast<float>(y[c])));
  auto total = static_cast<float>(sum);
#pragma omp simd
  for (int64_t c = 0; c < width; ++c)
    dx[c] = T(F::gradient(static_cast<float>(dy[c]), static_cast<float>(y[c]), total));
}

// Returns make(T{}, F{}) for the element type T of input 0 and the formulas F.
template <typename Make>
Kernel with_softmax(bool logarithm, const KernelRequest& request, const Make& make) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    if (logarithm) return make(type, LogSoftmax{});
    return make(type, PlainSoftmax{});
  });
}

}  // namespace

template <>
Kernel make_cpu(const SoftmaxOp& op, const KernelRequest& request) {
  return with_softmax(op.attributes().logarithm, request, [&]<typename T, typename F>(T, F) {
    return [rows = SoftmaxRows(request)](const KernelArgs& args) {
      rows.over([&](int64_t first) {
        soften_row<F>(rows.width, args.in<T>(0) + first, args.out<T>(0) + first);
      });
    };
  });
}

template <>
Kernel make_cpu(const SoftmaxBackwardOp& op, const KernelRequest& request) {
  return with_softmax(op.attributes().logarithm, request, [&]<typename T, typename F>(T, F) {
    return [rows = SoftmaxRows(request)](const KernelArgs& args) {
      rows.over([&](int64_t first) {
        differentiate_softmax_row<F>(rows.width, args.in<T>(0) + first, args.in<T>(1) + first,
                                     args.out<T>(0) + first);
      });
    };
  });
}

}  // namespace spire
