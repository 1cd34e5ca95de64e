// Softmax on the CPU: threads share the rows. A row is read from memory once; later passes over it
// find it in the cache.
#include <algorithm>

#include "kernels/cpu/largest_of_row.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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

template <typename T, typename F>
class SoftmaxCpuKernel : public Kernel {
 public:
  explicit SoftmaxCpuKernel(const KernelRequest& request) : rows_(request) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto y = static_cast<T*>(args.outputs[0]);
    rows_.over([&](int64_t first) { run_row(x + first, y + first); });
  }

 private:
  // y may be x.
  void run_row(const T* x, T* y) const {
    float most = largest_of_row(x, rows_.width);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < rows_.width; ++c)
      sum += static_cast<double>(Exp{}.value(static_cast<float>(x[c]) - most));
    float row = F::row_term(sum);
#pragma omp simd
    for (int64_t c = 0; c < rows_.width; ++c)
      y[c] = T(F::value(static_cast<float>(x[c]) - most, row));
  }

  SoftmaxRows rows_;
};

template <typename T, typename F>
class SoftmaxBackwardCpuKernel : public Kernel {
 public:
  explicit SoftmaxBackwardCpuKernel(const KernelRequest& request) : rows_(request) {}

  void run(const KernelArgs& args) override {
    auto dy = static_cast<const T*>(args.inputs[0]), y = static_cast<const T*>(args.inputs[1]);
    auto dx = static_cast<T*>(args.outputs[0]);
    rows_.over([&](int64_t first) { run_row(dy + first, y + first, dx + first); });
  }

 private:
  // dx may be dy or y.
  void run_row(const T* dy, const T* y, T* dx) const {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < rows_.width; ++c)
      sum += static_cast<double>(F::term(static_cast<float>(dy[c]), static_cast<float>(y[c])));
    auto total = static_cast<float>(sum);
#pragma omp simd
    for (int64_t c = 0; c < rows_.width; ++c)
      dx[c] = T(F::gradient(static_cast<float>(dy[c]), static_cast<float>(y[c]), total));
  }

  SoftmaxRows rows_;
};

// Makes K<T, F> for the input's element type T and the formulas F.
template <template <typename, typename> class K>
std::unique_ptr<Kernel> make_softmax(bool logarithm, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (logarithm) return std::make_unique<K<T, LogSoftmax>>(request);
    return std::make_unique<K<T, PlainSoftmax>>(request);
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const SoftmaxOp& op, const KernelRequest& request) {
  return make_softmax<SoftmaxCpuKernel>(op.attributes().logarithm, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const SoftmaxBackwardOp& op, const KernelRequest& request) {
  return make_softmax<SoftmaxBackwardCpuKernel>(op.attributes().logarithm, request);
}

}  // namespace spire::inline kernels
