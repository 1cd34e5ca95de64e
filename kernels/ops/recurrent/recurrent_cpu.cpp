// Recurrent layers on the CPU. A thread takes some samples through all steps, as samples do not
// read each other: a product of tiles with the weights, then the cell of each unit. The sums of a
// sample do not depend on the samples beside it, so the bits do not depend on the threads.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/kernel.h"
#include "kernels/ops/recurrent/recurrent.h"

namespace spire {

namespace {

using tile_product::Factor;
using tile_product::Rows;
using tile_product::Sums;

// The gates of one unit from arrays (gates, H), and back.
template <int gates, typename T>
void gather_unit(const T* from, int64_t units, int64_t unit, float (&to)[gates]) {
  for (int g = 0; g < gates; ++g) to[g] = static_cast<float>(from[g * units + unit]);
}
template <int gates, typename T>
void scatter_unit(const float (&from)[gates], int64_t units, int64_t unit, T* to) {
  for (int g = 0; g < gates; ++g) to[g * units + unit] = T(from[g]);
}

template <typename T, typename Cell>
struct RecurrentCpu {
  int threads;
  RecurrentExtents e;
  int64_t width = whole_registers(e.columns);

  // The transposed weights (H, width), and of each sample h (H) and a (width).
  size_t workspace_bytes() const {
    int64_t floats = e.units * width + e.samples * (whole_registers(e.units) + width);
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void operator()(const KernelArgs& args) const {
    auto weights = args.scratch<float>();
    transpose(args.in<float>(1), weights);
    float *h = weights + e.units * width, *a = h + e.samples * whole_registers(e.units);
    parallel_for(threads, e.samples, 1, [&](int64_t begin, int64_t end, int) {
      std::fill(h + begin * whole_registers(e.units), h + end * whole_registers(e.units), 0.0f);
      for (int64_t t = 0; t < e.steps; ++t) {
        tile_product::multiply(
            end - begin, e.units, width,
            Factor{h + begin * whole_registers(e.units), whole_registers(e.units), 1},
            Rows{weights, width}, Sums{a + begin * width, width, false});
        for (int64_t n = begin; n < end; ++n)
          step(args, n, t, a + n * width, h + n * whole_registers(e.units));
      }
    });
  }

  void transpose(const float* w, float* to) const {
    parallel_for(threads, e.units, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t j = 0; j < e.columns; ++j) to[k * width + j] = w[j * e.units + k];
        std::fill(to + k * width + e.columns, to + (k + 1) * width, 0.0f);
      }
    });
  }

  // One step of a sample: all its units.
  void step(const KernelArgs& args, int64_t n, int64_t t, const float* product, float* h) const {
    auto b = args.in<float>(2);
    int64_t row = n * e.steps + t;
    auto x = args.in<T>(0) + row * e.columns;
    auto y = args.out<T>(0) + row * e.units;
    auto saved = args.out<float>(1) + row * Cell::saved * e.units;
    for (int64_t u = 0; u < e.units; ++u) {
      float of_x[Cell::gates], a[Cell::gates], bias[Cell::gates], keep[Cell::saved] = {};
      gather_unit(x, e.units, u, of_x);
      gather_unit(product, e.units, u, a);
      gather_unit(b, e.units, u, bias);
      for (int g = 0; g < Cell::gates; ++g) a[g] += bias[g];
      CellState before{.h = h[u]};
      if (t > 0) {
        gather_unit(saved - Cell::saved * e.units, e.units, u, keep);
        before.c = Cell::cell(keep);
      }
      y[u] = T(Cell::forward(of_x, a, before, keep));
      h[u] = static_cast<float>(y[u]);
      scatter_unit(keep, e.units, u, saved);
    }
  }
};

template <typename T, typename Cell>
struct RecurrentBackwardCpu {
  int threads;
  RecurrentExtents e;
  int64_t width = whole_registers(e.units);

  // The weights (G H, width), and of each sample the gradients of h and c (width each) and of a.
  size_t workspace_bytes() const {
    int64_t floats = e.columns * width + e.samples * (2 * width + e.columns);
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void operator()(const KernelArgs& args) const {
    auto weights = args.scratch<float>();
    pad(args.in<float>(3), weights);
    float* dh = weights + e.columns * width;
    float *dc = dh + e.samples * width, *da = dc + e.samples * width;
    parallel_for(threads, e.samples, 1, [&](int64_t begin, int64_t end, int) {
      std::fill(dh + begin * width, dh + end * width, 0.0f);
      std::fill(dc + begin * width, dc + end * width, 0.0f);
      for (int64_t t = e.steps; t-- > 0;) {
        for (int64_t n = begin; n < end; ++n)
          step(args, n, t, {dh + n * width, dc + n * width, da + n * e.columns});
        tile_product::multiply(end - begin, e.columns, width,
                               Factor{da + begin * e.columns, e.columns, 1}, Rows{weights, width},
                               Sums{dh + begin * width, width, true});
      }
    });
  }

  // Of one sample: gradients of h and c, (H), and of a, (G H).
  struct SampleGradients {
    float *h, *c, *a;
  };

  void pad(const float* w, float* to) const {
    for (int64_t j = 0; j < e.columns; ++j) {
      std::copy_n(w + j * e.units, e.units, to + j * width);
      std::fill(to + j * width + e.units, to + (j + 1) * width, 0.0f);
    }
  }

  void step(const KernelArgs& args, int64_t n, int64_t t, const SampleGradients& of) const {
    int64_t row = n * e.steps + t, units = e.units;
    auto dy = args.in<T>(0) + row * units;
    auto y = args.in<T>(1) + row * units;
    auto saved = args.in<float>(2) + row * Cell::saved * units;
    auto dx = args.out<T>(0) + row * e.columns;
    auto da = args.out<T>(1) + row * e.columns;
    auto earlier = args.out<T>(2) + row * units;
    for (int64_t u = 0; u < units; ++u) {
      float kept[Cell::saved], kept_before[Cell::saved];
      gather_unit(saved, units, u, kept);
      CellState before;
      if (t > 0) {
        gather_unit(saved - Cell::saved * units, units, u, kept_before);
        before = {static_cast<float>(y[u - units]), Cell::cell(kept_before)};
      }
      auto g = Cell::backward(kept, before, {static_cast<float>(dy[u]) + of.h[u], of.c[u]});
      scatter_unit(g.x, units, u, dx);
      scatter_unit(g.a, units, u, da);
      scatter_unit(g.a, units, u, of.a);
      earlier[u] = T(before.h);
      of.h[u] = g.before.h;  // W's share is added behind
      of.c[u] = g.before.c;
    }
  }
};

}  // namespace

template <>
Kernel make_cpu(const RecurrentOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    return with_cell(op.attributes().cell, [&](auto cell) {
      RecurrentCpu<decltype(type), decltype(cell)> run{
          request.threads, recurrent_extents(request.inputs[0].shape, request.outputs[0].shape)};
      return Kernel(run, run.workspace_bytes());
    });
  });
}

template <>
Kernel make_cpu(const RecurrentBackwardOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    return with_cell(op.attributes().cell, [&](auto cell) {
      RecurrentBackwardCpu<decltype(type), decltype(cell)> run{
          request.threads, recurrent_extents(request.outputs[0].shape, request.outputs[2].shape)};
      return Kernel(run, run.workspace_bytes());
    });
  });
}

}  // namespace spire
