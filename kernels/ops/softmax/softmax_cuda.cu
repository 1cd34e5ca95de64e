// Softmax on a GPU. A warp takes a row: its first pass reads it from memory, later passes find it
// in the cache. No atomics, so each sum has one order.
#include <limits>

#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/warp_rows.h"
#include "kernels/kernel.h"
#include "kernels/ops/softmax/softmax.h"

namespace spire {

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

// Returns make(T{}, F{}) for the element type T of input 0 and the formulas F.
template <typename Make>
Kernel with_softmax_cuda(bool logarithm, const KernelRequest& request, const Make& make) {
  return with_any_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    if (logarithm) return make(type, LogSoftmax{});
    return make(type, PlainSoftmax{});
  });
}

}  // namespace

template <>
Kernel make_cuda(const SoftmaxOp& op, const KernelRequest& request) {
  return with_softmax_cuda(op.attributes().logarithm, request, [&]<typename T, typename F>(T, F) {
    return [e = rows_of(request.inputs[0].shape)](const KernelArgs& args) {
      launch(softmax_kernel<F, T>, blocks_for(e.rows, rows_per_block), row_threads, args.stream, e,
             args.in<T>(0), args.out<T>(0));
    };
  });
}

template <>
Kernel make_cuda(const SoftmaxBackwardOp& op, const KernelRequest& request) {
  return with_softmax_cuda(op.attributes().logarithm, request, [&]<typename T, typename F>(T, F) {
    return [e = rows_of(request.inputs[0].shape)](const KernelArgs& args) {
      launch(softmax_backward_kernel<F, T>, blocks_for(e.rows, rows_per_block), row_threads,
             args.stream, e, args.in<T>(0), args.in<T>(1), args.out<T>(0));
    };
  });
}

}  // namespace spire
