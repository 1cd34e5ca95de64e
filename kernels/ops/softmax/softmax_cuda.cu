// Softmax on a GPU. A warp takes a row: its first pass reads it from memory, later passes find it
// in the cache. No atomics, so each sum has one order.
#include <limits>

#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/warp_rows.h"
#include "kernels/kernel.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct SoftmaxExtents {
  int64_t rows, width;
};

SoftmaxExtents rows_of(const Shape& shape) {
  int64_t width = larger<int64_t>(shape.back(), 1);
  return {shape.elements() / width, width};
}

// y may be x.
template <typename F, typename T>
__global__ void __launch_bounds__(row_threads) softmax_kernel(SoftmaxExtents e, const T* x, T* y) {
  int64_t row = row_of_warp();
  if (row >= e.rows) return;  // the same for all threads of a warp
  x += row * e.width;
  y += row * e.width;
  float most = -std::numeric_limits<float>::infinity();
  over_columns(e.width, [&](int64_t c) { most = Maximum{}(static_cast<float>(x[c]), most); });
  most = warp_reduce(most, Maximum{});
  double sum = 0;
  over_columns(e.width, [&](int64_t c) {
    sum += static_cast<double>(Exp{}.value(static_cast<float>(x[c]) - most));
  });
  float of_row = F::row_term(warp_reduce(sum, Sum{}));
  over_columns(e.width,
               [&](int64_t c) { y[c] = T(F::value(static_cast<float>(x[c]) - most, of_row)); });
}

// dx may be dy or y.
template <typename F, typename T>
__global__ void __launch_bounds__(row_threads)
    softmax_backward_kernel(SoftmaxExtents e, const T* dy, const T* y, T* dx) {
  int64_t row = row_of_warp();
  if (row >= e.rows) return;
  dy += row * e.width;
  y += row * e.width;
  dx += row * e.width;
  double sum = 0;
  over_columns(e.width, [&](int64_t c) {
    sum += static_cast<double>(F::term(static_cast<float>(dy[c]), static_cast<float>(y[c])));
  });
  auto total = static_cast<float>(warp_reduce(sum, Sum{}));
  over_columns(e.width, [&](int64_t c) {
    dx[c] = T(F::gradient(static_cast<float>(dy[c]), static_cast<float>(y[c]), total));
  });
}

template <typename T, typename F>
class SoftmaxCudaKernel : public Kernel {
 public:
  explicit SoftmaxCudaKernel(const KernelRequest& request) : e_(rows_of(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    launch(softmax_kernel<F, T>, blocks_for(e_.rows, rows_per_block), row_threads, args.stream, e_,
           static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
  }

 private:
  SoftmaxExtents e_;
};

template <typename T, typename F>
class SoftmaxBackwardCudaKernel : public Kernel {
 public:
  explicit SoftmaxBackwardCudaKernel(const KernelRequest& request)
      : e_(rows_of(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    launch(softmax_backward_kernel<F, T>, blocks_for(e_.rows, rows_per_block), row_threads,
           args.stream, e_, static_cast<const T*>(args.inputs[0]),
           static_cast<const T*>(args.inputs[1]), static_cast<T*>(args.outputs[0]));
  }

 private:
  SoftmaxExtents e_;
};

// Makes K<T, F> for the input's element type T and the formulas F.
template <template <typename, typename> class K>
std::unique_ptr<Kernel> make_softmax_cuda(bool logarithm, const KernelRequest& request) {
  return with_cuda_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (logarithm) return std::make_unique<K<T, LogSoftmax>>(request);
    return std::make_unique<K<T, PlainSoftmax>>(request);
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const SoftmaxOp& op, const KernelRequest& request) {
  return make_softmax_cuda<SoftmaxCudaKernel>(op.attributes().logarithm, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const SoftmaxBackwardOp& op, const KernelRequest& request) {
  return make_softmax_cuda<SoftmaxBackwardCudaKernel>(op.attributes().logarithm, request);
}

}  // namespace spire::inline kernels
