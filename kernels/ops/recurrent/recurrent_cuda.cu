// Recurrent layers on a GPU. A block takes a few samples through all steps, so that steps need no
// exchange between blocks; a thread has some units, whose gates it sums and computes. The weights,
// transposed once per run for loads of adjacent units, stay in the second-level cache. All sums in
// fp32, in the order of the units.
#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/recurrent/recurrent.h"

namespace spire {

namespace {

constexpr int recurrent_threads = 256;
constexpr int block_samples = 2;  // that share a load of a weight

// to (H, columns) = w (columns, H) transposed.
__global__ void __launch_bounds__(recurrent_threads)
    recurrent_transpose_kernel(RecurrentExtents e, const float* w, float* to) {
  int64_t i = int64_t{blockIdx.x} * recurrent_threads + threadIdx.x;
  if (i >= e.units * e.columns) return;
  to[i] = w[i % e.columns * e.units + i / e.columns];
}

// The sample of a block, or the last one again where there are no more.
__device__ inline int64_t block_sample(const RecurrentExtents& e, int s) {
  int64_t sample = int64_t{blockIdx.x} * block_samples + s;
  return sample < e.samples ? sample : e.samples - 1;
}

template <typename Cell, typename T>
__device__ void recurrent_unit(const RecurrentExtents& e, int64_t row, int64_t t, int64_t unit,
                               const T* x, const float (&a)[Cell::gates], T* y, float* saved) {
  float of_x[Cell::gates], keep[Cell::saved];
  float* own = saved + row * Cell::saved * e.units + unit;
  CellState before;
#pragma unroll
  for (int g = 0; g < Cell::gates; ++g)
    of_x[g] = static_cast<float>(x[row * e.columns + g * e.units + unit]);
#pragma unroll
  for (int k = 0; k < Cell::saved; ++k) keep[k] = t > 0 ? own[(k - Cell::saved) * e.units] : 0.0f;
  if (t > 0) before = {static_cast<float>(y[(row - 1) * e.units + unit]), Cell::cell(keep)};
  y[row * e.units + unit] = T(Cell::forward(of_x, a, before, keep));
#pragma unroll
  for (int k = 0; k < Cell::saved; ++k) own[k * e.units] = keep[k];
}

// A sample that block_sample() repeats is computed and not written.
template <typename Cell, typename T>
__global__ void __launch_bounds__(recurrent_threads)
    recurrent_kernel(RecurrentExtents e, const T* x, const float* weights, const float* b, T* y,
                     float* saved) {
  for (int64_t t = 0; t < e.steps; ++t) {
    for (int64_t u = threadIdx.x; u < e.units; u += recurrent_threads) {
      float a[block_samples][Cell::gates];
#pragma unroll
      for (int s = 0; s < block_samples; ++s)
#pragma unroll
        for (int g = 0; g < Cell::gates; ++g) a[s][g] = 0;
      for (int64_t k = 0; t > 0 && k < e.units; ++k) {
        float h[block_samples];
#pragma unroll
        for (int s = 0; s < block_samples; ++s)
          h[s] = static_cast<float>(y[(block_sample(e, s) * e.steps + t - 1) * e.units + k]);
#pragma unroll
        for (int g = 0; g < Cell::gates; ++g) {
          float w = weights[k * e.columns + g * e.units + u];
#pragma unroll
          for (int s = 0; s < block_samples; ++s) a[s][g] += h[s] * w;
        }
      }
#pragma unroll
      for (int s = 0; s < block_samples; ++s) {
#pragma unroll
        for (int g = 0; g < Cell::gates; ++g) a[s][g] += b[g * e.units + u];
        int64_t row = block_sample(e, s) * e.steps + t;
        if (int64_t{blockIdx.x} * block_samples + s < e.samples)
          recurrent_unit<Cell>(e, row, t, u, x, a[s], y, saved);
      }
    }
    __syncthreads();  // the next step reads y of all units
  }
}

// Tensors of the backward, and scratch memory: gradients of h and c (N, H) and of a (N, G H).
template <typename T>
struct RecurrentGradients {
  const T *dy, *y;
  const float* saved;
  T *dx, *da, *earlier;
  float *of_h, *of_c, *of_a;
};

template <typename Cell, typename T>
__device__ void recurrent_unit_backward(const RecurrentExtents& e, int64_t sample, int64_t t,
                                        int64_t unit, const RecurrentGradients<T>& p) {
  int64_t row = sample * e.steps + t, state = sample * e.units + unit;
  const float* own = p.saved + row * Cell::saved * e.units + unit;
  float kept[Cell::saved], kept_before[Cell::saved];
#pragma unroll
  for (int k = 0; k < Cell::saved; ++k) {
    kept[k] = own[k * e.units];
    kept_before[k] = t > 0 ? own[(k - Cell::saved) * e.units] : 0.0f;
  }
  CellState before;
  if (t > 0)
    before = {static_cast<float>(p.y[(row - 1) * e.units + unit]), Cell::cell(kept_before)};
  bool last = t == e.steps - 1;
  CellState gradient{static_cast<float>(p.dy[row * e.units + unit]) + (last ? 0 : p.of_h[state]),
                     last ? 0 : p.of_c[state]};
  auto g = Cell::backward(kept, before, gradient);
#pragma unroll
  for (int k = 0; k < Cell::gates; ++k) {
    int64_t column = k * e.units + unit;
    p.dx[row * e.columns + column] = T(g.x[k]);
    p.da[row * e.columns + column] = T(g.a[k]);
    p.of_a[sample * e.columns + column] = g.a[k];
  }
  p.earlier[row * e.units + unit] = T(before.h);
  p.of_h[state] = g.before.h;
  p.of_c[state] = g.before.c;
}

// w (G H, H) in its plain order: adjacent units are adjacent.
template <typename Cell, typename T>
__global__ void __launch_bounds__(recurrent_threads)
    recurrent_backward_kernel(RecurrentExtents e, const float* w, RecurrentGradients<T> p) {
  for (int64_t t = e.steps; t-- > 0;) {
    for (int64_t u = threadIdx.x; u < e.units; u += recurrent_threads)
      for (int s = 0; s < block_samples; ++s) {
        int64_t sample = int64_t{blockIdx.x} * block_samples + s;
        if (sample < e.samples) recurrent_unit_backward<Cell>(e, sample, t, u, p);
      }
    __syncthreads();  // W's share reads the gradients of all gates
    for (int64_t u = threadIdx.x; u < e.units; u += recurrent_threads) {
      float sum[block_samples];
#pragma unroll
      for (int s = 0; s < block_samples; ++s) sum[s] = 0;
      for (int64_t j = 0; j < e.columns; ++j) {
        float weight = w[j * e.units + u];
#pragma unroll
        for (int s = 0; s < block_samples; ++s)
          sum[s] += p.of_a[block_sample(e, s) * e.columns + j] * weight;
      }
#pragma unroll
      for (int s = 0; s < block_samples; ++s)
        if (int64_t{blockIdx.x} * block_samples + s < e.samples)
          p.of_h[block_sample(e, s) * e.units + u] += sum[s];
    }
    __syncthreads();
  }
}

unsigned recurrent_blocks(const RecurrentExtents& e) {
  return blocks_for(e.samples, block_samples);
}

}  // namespace

template <>
Kernel make_cuda(const RecurrentOp& op, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&]<typename T>(T) {
    return with_cell(op.attributes().cell, [&]<typename Cell>(Cell) {
      auto e = recurrent_extents(request.inputs[0].shape, request.outputs[0].shape);
      auto run = [e](const KernelArgs& args) {
        auto weights = args.scratch<float>();
        launch(recurrent_transpose_kernel, blocks_for(e.units * e.columns, recurrent_threads),
               recurrent_threads, args.stream, e, args.in<float>(1), weights);
        launch(recurrent_kernel<Cell, T>, recurrent_blocks(e), recurrent_threads, args.stream, e,
               args.in<T>(0), weights, args.in<float>(2), args.out<T>(0), args.out<float>(1));
      };
      return Kernel(run, static_cast<size_t>(e.units * e.columns) * sizeof(float));
    });
  });
}

template <>
Kernel make_cuda(const RecurrentBackwardOp& op, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&]<typename T>(T) {
    return with_cell(op.attributes().cell, [&]<typename Cell>(Cell) {
      auto e = recurrent_extents(request.outputs[0].shape, request.outputs[2].shape);
      auto run = [e](const KernelArgs& args) {
        auto scratch = args.scratch<float>();
        RecurrentGradients<T> p{args.in<T>(0),
                                args.in<T>(1),
                                args.in<float>(2),
                                args.out<T>(0),
                                args.out<T>(1),
                                args.out<T>(2),
                                scratch,
                                scratch + e.samples * e.units,
                                scratch + 2 * e.samples * e.units};
        launch(recurrent_backward_kernel<Cell, T>, recurrent_blocks(e), recurrent_threads,
               args.stream, e, args.in<float>(3), p);
      };
      return Kernel(run,
                    static_cast<size_t>(e.samples * (2 * e.units + e.columns)) * sizeof(float));
    });
  });
}

}  // namespace spire
