// Sums over an axis on a GPU: over the last axis a warp sums a row, over another one a thread sums
// an element of y, so that the threads of a warp read adjacent elements. Backward: a thread writes
// an element of dx.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"
#include "kernels/kernel.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

constexpr int rows_per_block = block_threads / warp_threads;

template <typename T>
__global__ void __launch_bounds__(block_threads)
    reduce_rows_kernel(ReduceExtents e, const T* __restrict__ x, T* __restrict__ y) {
  int64_t row = int64_t{blockIdx.x} * rows_per_block + threadIdx.x / warp_threads;
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

template <typename T>
class ReduceCudaKernel : public Kernel {
 public:
  ReduceCudaKernel(const ReduceAttributes& attributes, const KernelRequest& request)
      : e_(reduce_extents(request.inputs[0].shape, attributes)), inner_(e_.inner) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto y = static_cast<T*>(args.outputs[0]);
    if (e_.inner == 1) {
      launch(reduce_rows_kernel<T>, blocks_for(e_.outer, rows_per_block), block_threads,
             args.stream, e_, x, y);
    } else {
      launch(reduce_columns_kernel<T>, blocks_for(e_.outer * e_.inner, block_threads),
             block_threads, args.stream, e_, inner_, x, y);
    }
  }

 private:
  ReduceExtents e_;
  Divider inner_;
};

template <typename T>
class ReduceBackwardCudaKernel : public Kernel {
 public:
  ReduceBackwardCudaKernel(const ReduceBackwardAttributes& attributes, const KernelRequest& request)
      : e_(reduce_extents(request.outputs[0].shape, attributes.forward)),
        inner_(e_.inner),
        length_(e_.length) {}

  void run(const KernelArgs& args) override {
    launch(reduce_backward_kernel<T>, blocks_for(e_.outer * e_.length * e_.inner, block_threads),
           block_threads, args.stream, e_, inner_, length_, static_cast<const T*>(args.inputs[0]),
           static_cast<T*>(args.outputs[0]));
  }

 private:
  ReduceExtents e_;
  Divider inner_, length_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const ReduceOp& op, const KernelRequest& request) {
  return make_typed_cuda<ReduceCudaKernel>(request.inputs[0].dtype, op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const ReduceBackwardOp& op, const KernelRequest& request) {
  return make_typed_cuda<ReduceBackwardCudaKernel>(request.inputs[0].dtype, op.attributes(),
                                                   request);
}

}  // namespace spire::inline kernels
