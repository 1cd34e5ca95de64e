// Distillation on a GPU. A warp takes a row: its first pass reads it from memory, the second finds
// it in the cache. A second kernel adds the rows' divergences in fp64, by one block in a fixed
// order.
#include <limits>

#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/warp_rows.h"
#include "kernels/kernel.h"
#include "kernels/ops/distillation/distillation.h"

namespace spire {

namespace {

struct DistillationExtents {
  int64_t rows, classes;
};

DistillationExtents distillation_extents(const TensorSpec& logits) {
  return {logits.shape[0], logits.shape[1]};
}

// divergences (rows): of each row.
template <typename T>
__global__ void __launch_bounds__(row_threads)
    distillation_kernel(DistillationExtents e, SoftenedPair pair, const T* __restrict__ x,
                        const T* __restrict__ z, double* __restrict__ divergences,
                        float* __restrict__ of_x, float* __restrict__ of_z) {
  int64_t row = row_of_warp();
  if (row >= e.rows) return;  // the same for all threads of a warp
  x += row * e.classes;
  z += row * e.classes;
  float most_x = -std::numeric_limits<float>::infinity(), most_z = most_x;
  over_columns(e.classes, [&](int64_t c) {
    most_x = Maximum{}(static_cast<float>(x[c]), most_x);
    most_z = Maximum{}(static_cast<float>(z[c]), most_z);
  });
  most_x = warp_reduce(most_x, Maximum{});
  most_z = warp_reduce(most_z, Maximum{});
  SoftenedPair::Sums sums;
  over_columns(e.classes, [&](int64_t c) {
    pair.add(static_cast<float>(x[c]), static_cast<float>(z[c]), most_x, most_z, sums);
  });
  sums.x = warp_reduce(sums.x, Sum{});
  sums.z = warp_reduce(sums.z, Sum{});
  sums.difference = warp_reduce(sums.difference, Sum{});
  if (threadIdx.x % warp_threads != 0) return;
  double log_x = log(sums.x), log_z = log(sums.z);
  of_x[row] = static_cast<float>(static_cast<double>(most_x * pair.inverse) + log_x);
  of_z[row] = static_cast<float>(static_cast<double>(most_z * pair.inverse) + log_z);
  divergences[row] = sums.difference / sums.z + log_x - log_z;
}

// before: the loss so far; null: none.
__global__ void __launch_bounds__(row_threads)
    distillation_total_kernel(int64_t rows, const double* __restrict__ divergences, double factor,
                              const double* before, double* loss) {
  double sum = 0;
  for (int64_t row = threadIdx.x; row < rows; row += row_threads) sum += divergences[row];
  sum = block_reduce<row_threads>(sum, Sum{});
  if (threadIdx.x == 0) *loss = (before ? *before : 0.0) + sum * factor;
}

// dx may be x or z.
template <typename T>
__global__ void __launch_bounds__(row_threads)
    distillation_backward_kernel(DistillationExtents e, SoftenedPair pair, float factor, const T* x,
                                 const T* z, const float* __restrict__ of_x,
                                 const float* __restrict__ of_z,
                                 const StepContext* __restrict__ step, T* dx) {
  int64_t row = row_of_warp();
  if (row >= e.rows) return;
  int64_t first = row * e.classes;
  float scale = factor * step->loss_gradient_scale(), row_x = of_x[row], row_z = of_z[row];
  over_columns(e.classes, [&](int64_t c) {
    dx[first + c] = T(scale * pair.difference(static_cast<float>(x[first + c]),
                                              static_cast<float>(z[first + c]), row_x, row_z));
  });
}

}  // namespace

template <>
Kernel make_cuda(const DistillationOp& op, const KernelRequest& request) {
  auto e = distillation_extents(request.inputs[0]);
  SoftenedPair pair{1 / op.attributes().temperature};
  double factor = op.attributes().loss_factor();
  size_t bytes = static_cast<size_t>(e.rows) * sizeof(double);
  bool adds = request.inputs.size() == 3;
  return cuda_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    auto divergences = args.scratch<double>();
    launch(distillation_kernel<T>, blocks_for(e.rows, rows_per_block), row_threads, args.stream, e,
           pair, args.in<T>(0), args.in<T>(1), divergences, args.out<float>(1), args.out<float>(2));
    launch(distillation_total_kernel, 1, row_threads, args.stream, e.rows, divergences, factor,
           adds ? args.in<double>(2) : nullptr, args.out<double>(0));
  });
}

template <>
Kernel make_cuda(const DistillationBackwardOp& op, const KernelRequest& request) {
  auto e = distillation_extents(request.inputs[0]);
  SoftenedPair pair{1 / op.attributes().temperature};
  float factor = op.attributes().gradient_factor();
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    launch(distillation_backward_kernel<T>, blocks_for(e.rows, rows_per_block), row_threads,
           args.stream, e, pair, factor, args.in<T>(0), args.in<T>(1), args.in<float>(2),
           args.in<float>(3), args.step, args.out<T>(0));
  });
}

}  // namespace spire
