// Sums over an axis on a GPU: over the last axis a warp sums a row, over another one a thread sums
// an element of y, so that the threads of a warp read adjacent elements. Backward: a thread writes
// an element of dx.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"
#include "kernels/cuda/warp_rows.h"
#include "kernels/kernel.h"
#include "kernels/ops/reduce/reduce.h"

namespace spire {

namespace {

template <typename T>
__global__ void __launch_bounds__(row_threads)
    reduce_rows_kernel(ReduceExtents e, const T* __restrict__ x, T* __restrict__ y) {
  int64_t row = row_of_warp();
  if (row >= e.outer) return;  // the same for all threads of a warp
  double sum = 0;
  for (int64_t l = threadIdx.x % warp_threads; l < e.length; l += warp_threads)
    sum += static_cast<double>(static_cast<float>(x[row * e.length + l]));
  sum = warp_reduce(sum, Sum{});
  if (threadIdx.x % warp_threads == 0) y[row] = T(static_cast<float>(sum * e.factor));
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    reduce_columns_kernel(ReduceExtents e, Divider inner, const T* __restrict__ x,
                          T* __restrict__ y) {
  int64_t at = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (at >= e.outer * e.inner) return;
  auto [outer, i] = inner.divide(at);
  x += outer * e.length * e.inner + i;
  double sum = 0;
  for (int64_t l = 0; l < e.length; ++l)
    sum += static_cast<double>(static_cast<float>(x[l * e.inner]));
  y[at] = T(static_cast<float>(sum * e.factor));
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    reduce_backward_kernel(ReduceExtents e, Divider inner, Divider length, const T* __restrict__ dy,
                           T* __restrict__ dx) {
  int64_t at = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (at >= e.outer * e.length * e.inner) return;
  auto [row, i] = inner.divide(at);
  int64_t outer = length.divide(row).quotient;
  dx[at] = T(static_cast<float>(e.factor) * static_cast<float>(dy[outer * e.inner + i]));
}

}  // namespace

template <>
Kernel make_cuda(const ReduceOp& op, const KernelRequest& request) {
  auto e = reduce_extents(request.inputs[0].shape, op.attributes());
  return cuda_kernel(request, [e, inner = Divider(e.inner)]<typename T>(T, const KernelArgs& args) {
    if (e.inner == 1) {
      launch(reduce_rows_kernel<T>, blocks_for(e.outer, rows_per_block), row_threads, args.stream,
             e, args.in<T>(0), args.out<T>(0));
    } else {
      launch(reduce_columns_kernel<T>, blocks_for(e.outer * e.inner, block_threads), block_threads,
             args.stream, e, inner, args.in<T>(0), args.out<T>(0));
    }
  });
}

template <>
Kernel make_cuda(const ReduceBackwardOp& op, const KernelRequest& request) {
  auto e = reduce_extents(request.outputs[0].shape, op.attributes().forward);
  auto inner = Divider(e.inner);
  auto length = Divider(e.length);
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    launch(reduce_backward_kernel<T>, blocks_for(e.outer * e.length * e.inner, block_threads),
           block_threads, args.stream, e, inner, length, args.in<T>(0), args.out<T>(0));
  });
}

namespace {

__global__ void __launch_bounds__(block_threads)
    copy_kernel(int64_t n, const double* from, double* to) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) to[i] = from[i];
}

}  // namespace

// A single tower's sum is its own terms.
template <>
Kernel make_cuda(const TowerSumOp&, const KernelRequest& request) {
  return [n = request.inputs[0].shape.elements()](const KernelArgs& args) {
    launch(copy_kernel, blocks_for(n, block_threads), block_threads, args.stream, n,
           args.in<double>(0), args.out<double>(0));
  };
}

}  // namespace spire
