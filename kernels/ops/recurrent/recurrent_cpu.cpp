// Recurrent layers on the CPU. A thread takes some samples through all steps, as samples do not
// read each other: a product of tiles with the weights, then the cell of each unit. The sums of a
// sample do not depend on the samples beside it, so the bits do not depend on the threads.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/ops/recurrent/cells.h"
#include "kernels/ops/recurrent/recurrent.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

using tile_product::Factor;
using tile_product::Rows;
using tile_product::Sums;

// Columns in whole registers, as products of tiles need them.
int64_t padded(int64_t columns) {
  return (columns + lane_count - 1) / lane_count * lane_count;
}

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
class RecurrentCpuKernel : public Kernel {
 public:
  explicit RecurrentCpuKernel(const KernelRequest& request)
      : threads_(request.threads),
        e_(recurrent_extents(request.inputs[0].shape, request.outputs[0].shape)),
        width_(padded(e_.columns)) {}

  // The transposed weights (H, width), and of each sample h (H) and a (width).
  size_t workspace_bytes() const override {
    int64_t floats = e_.units * width_ + e_.samples * (padded(e_.units) + width_);
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    auto weights = static_cast<float*>(args.workspace);
    transpose(static_cast<const float*>(args.inputs[1]), weights);
    float *h = weights + e_.units * width_, *a = h + e_.samples * padded(e_.units);
    parallel_for(threads_, e_.samples, 1, [&](int64_t begin, int64_t end, int) {
      std::fill(h + begin * padded(e_.units), h + end * padded(e_.units), 0.0f);
      for (int64_t t = 0; t < e_.steps; ++t) {
        tile_product::multiply(end - begin, e_.units, width_,
                               Factor{h + begin * padded(e_.units), padded(e_.units), 1},
                               Rows{weights, width_}, Sums{a + begin * width_, width_, false});
        for (int64_t n = begin; n < end; ++n)
          step(args, n, t, a + n * width_, h + n * padded(e_.units));
      }
    });
  }

 private:
  void transpose(const float* w, float* to) const {
    parallel_for(threads_, e_.units, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t j = 0; j < e_.columns; ++j) to[k * width_ + j] = w[j * e_.units + k];
        std::fill(to + k * width_ + e_.columns, to + (k + 1) * width_, 0.0f);
      }
    });
  }

  // One step of a sample: all its units.
  void step(const KernelArgs& args, int64_t n, int64_t t, const float* product, float* h) const {
    auto b = static_cast<const float*>(args.inputs[2]);
    int64_t row = n * e_.steps + t;
    auto x = static_cast<const T*>(args.inputs[0]) + row * e_.columns;
    auto y = static_cast<T*>(args.outputs[0]) + row * e_.units;
    auto saved = static_cast<float*>(args.outputs[1]) + row * Cell::saved * e_.units;
    for (int64_t u = 0; u < e_.units; ++u) {
      float of_x[Cell::gates], a[Cell::gates], bias[Cell::gates], keep[Cell::saved] = {};
      gather_unit(x, e_.units, u, of_x);
      gather_unit(product, e_.units, u, a);
      gather_unit(b, e_.units, u, bias);
      for (int g = 0; g < Cell::gates; ++g) a[g] += bias[g];
      CellState before{.h = h[u]};
      if (t > 0) {
        gather_unit(saved - Cell::saved * e_.units, e_.units, u, keep);
        before.c = Cell::cell(keep);
      }
      y[u] = T(Cell::forward(of_x, a, before, keep));
      h[u] = static_cast<float>(y[u]);
      scatter_unit(keep, e_.units, u, saved);
    }
  }

  int threads_;
  RecurrentExtents e_;
  int64_t width_;  // padded columns
};

template <typename T, typename Cell>
class RecurrentBackwardCpuKernel : public Kernel {
 public:
  explicit RecurrentBackwardCpuKernel(const KernelRequest& request)
      : threads_(request.threads),
        e_(recurrent_extents(request.outputs[0].shape, request.outputs[2].shape)),
        width_(padded(e_.units)) {}

  // The weights (G H, width), and of each sample the gradients of h and c (width each) and of a.
  size_t workspace_bytes() const override {
    int64_t floats = e_.columns * width_ + e_.samples * (2 * width_ + e_.columns);
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    auto weights = static_cast<float*>(args.workspace);
    pad(static_cast<const float*>(args.inputs[3]), weights);
    float* dh = weights + e_.columns * width_;
    float *dc = dh + e_.samples * width_, *da = dc + e_.samples * width_;
    parallel_for(threads_, e_.samples, 1, [&](int64_t begin, int64_t end, int) {
      std::fill(dh + begin * width_, dh + end * width_, 0.0f);
      std::fill(dc + begin * width_, dc + end * width_, 0.0f);
      for (int64_t t = e_.steps; t-- > 0;) {
        for (int64_t n = begin; n < end; ++n)
          step(args, n, t, {dh + n * width_, dc + n * width_, da + n * e_.columns});
        tile_product::multiply(end - begin, e_.columns, width_,
                               Factor{da + begin * e_.columns, e_.columns, 1},
                               Rows{weights, width_}, Sums{dh + begin * width_, width_, true});
      }
    });
  }

 private:
  // Of one sample: gradients of h and c, (H), and of a, (G H).
  struct SampleGradients {
    float *h, *c, *a;
  };

  void pad(const float* w, float* to) const {
    for (int64_t j = 0; j < e_.columns; ++j) {
      std::copy_n(w + j * e_.units, e_.units, to + j * width_);
      std::fill(to + j * width_ + e_.units, to + (j + 1) * width_, 0.0f);
    }
  }

  void step(const KernelArgs& args, int64_t n, int64_t t, const SampleGradients& of) const {
    int64_t row = n * e_.steps + t, units = e_.units;
    auto dy = static_cast<const T*>(args.inputs[0]) + row * units;
    auto y = static_cast<const T*>(args.inputs[1]) + row * units;
    auto saved = static_cast<const float*>(args.inputs[2]) + row * Cell::saved * units;
    auto dx = static_cast<T*>(args.outputs[0]) + row * e_.columns;
    auto da = static_cast<T*>(args.outputs[1]) + row * e_.columns;
    auto earlier = static_cast<T*>(args.outputs[2]) + row * units;
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

  int threads_;
  RecurrentExtents e_;
  int64_t width_;  // padded units
};

template <typename T>
using LstmCpu = RecurrentCpuKernel<T, LstmCell>;
template <typename T>
using GruCpu = RecurrentCpuKernel<T, GruCell>;
template <typename T>
using LstmBackwardCpu = RecurrentBackwardCpuKernel<T, LstmCell>;
template <typename T>
using GruBackwardCpu = RecurrentBackwardCpuKernel<T, GruCell>;

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const RecurrentOp& op, const KernelRequest& request) {
  DType dtype = request.inputs[0].dtype;
  return op.attributes().cell == RecurrentCell::lstm ? make_typed<LstmCpu>(dtype, request)
                                                     : make_typed<GruCpu>(dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const RecurrentBackwardOp& op, const KernelRequest& request) {
  DType dtype = request.inputs[0].dtype;
  return op.attributes().cell == RecurrentCell::lstm ? make_typed<LstmBackwardCpu>(dtype, request)
                                                     : make_typed<GruBackwardCpu>(dtype, request);
}

}  // namespace spire::inline kernels
