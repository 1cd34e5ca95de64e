// Layer and RMS normalization on the CPU. A row is read from memory once; later passes over it find
// it in the first-level cache. Backward: gradients of gamma and beta are summed over chunks of rows
// that the shape alone fixes, then over the chunks in their order, so that the bits do not depend
// on the thread count. All in fp32.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/kernel.h"
#include "kernels/ops/row_norm/row_norm.h"

namespace spire {
namespace {

// A row of x as xhat = (x - mean) rstd; without a mean for RMS normalization.
template <bool centered, typename T>
struct NormalRow {
  const T* x;
  float mean, rstd;

  FloatLanes value(int64_t i, int count) const {
    FloatLanes lanes = load_floats(x + i, count);
    return centered ? lanes - mean : lanes;
  }
  FloatLanes xhat(int64_t i, int count) const { return value(i, count) * rstd; }
};

template <bool centered, typename T>
NormalRow<centered, T> normal_row(const T* x, int64_t width, float epsilon) {
  auto n = static_cast<float>(width);
  NormalRow<centered, T> row{x, 0, 0};
  if constexpr (centered)
    row.mean =
        sum_over(width, [&](int64_t i, auto count) { return load_floats(x + i, count); }) / n;
  float squares = sum_over(width, [&](int64_t i, auto count) {
    FloatLanes off = row.value(i, count);
    if constexpr (centered) off = first_lanes(off, count, 0);
    return off * off;
  });
  row.rstd = 1.0f / std::sqrt(squares / n + epsilon);
  return row;
}

template <bool centered>
Kernel normalize_rows(const RowNormAttributes& attributes, const KernelRequest& request) {
  auto e = row_extents(request.inputs[0].shape);
  int threads = request.threads;
  float epsilon = attributes.epsilon;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto gamma = args.in<float>(1), beta = centered ? args.in<float>(2) : nullptr;
    parallel_for(threads, e.rows, 4, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        auto row = normal_row<centered>(args.in<T>(0) + r * e.width, e.width, epsilon);
        T* y = args.out<T>(0) + r * e.width;
        over_lanes(e.width, [&](int64_t i, auto count) {
          FloatLanes scaled = load_floats(gamma + i, count) * row.xhat(i, count);
          if constexpr (centered) scaled += load_floats(beta + i, count);
          store_floats(scaled, y + i, count);
        });
        if (centered) args.out<float>(1)[r] = row.mean;
        args.out<float>(centered ? 2 : 1)[r] = row.rstd;
      }
    });
  });
}

// Writes dx of a row, and adds to dgamma and, behind it, dbeta. dx may be dy or x: an element is
// written after its last read. addend: may be null.
template <bool centered, typename T>
void add_norm_row(const NormalRow<centered, T>& row, int64_t width, const T* dy, const float* gamma,
                  const T* addend, T* dx, float* dgamma) {
  auto n = static_cast<float>(width);
  auto g = [&](int64_t i, auto count) {
    return load_floats(dy + i, count) * load_floats(gamma + i, count);
  };
  float mean_g = centered ? sum_over(width, g) / n : 0;
  auto product = [&](int64_t i, auto count) { return g(i, count) * row.xhat(i, count); };
  float mean_gx = sum_over(width, product) / n;
  over_lanes(width, [&](int64_t i, auto count) {
    FloatLanes own = load_floats(dy + i, count), xhat = row.xhat(i, count);
    FloatLanes left = own * load_floats(gamma + i, count);
    if constexpr (centered) left -= mean_g;
    store_floats(load_floats(dgamma + i, count) + own * xhat, dgamma + i, count);
    if constexpr (centered)
      store_floats(load_floats(dgamma + width + i, count) + own, dgamma + width + i, count);
    store_floats(row.rstd * (left - xhat * mean_gx), dx + i, count);
  });
  // In a loop of its own, so that dx is rounded before: else the compiler fuses its product.
  if (addend)
    over_lanes(width, [&](int64_t i, auto count) {
      store_floats(load_floats(dx + i, count) + load_floats(addend + i, count), dx + i, count);
    });
}

// Workspace: a chunk's sums of dy xhat and of dy, (chunks, 1 or 2, C) fp32.
template <bool centered>
Kernel differentiate_rows(const KernelRequest& request) {
  RowExtents e = row_extents(request.inputs[1].shape);
  RowChunks chunks(e.rows);
  int64_t pitch = (centered ? 2 : 1) * e.width;
  size_t bytes = static_cast<size_t>(chunks.chunks * pitch) * sizeof(float);
  int threads = request.threads;
  return cpu_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    auto sums = args.scratch<float>();
    auto mean = centered ? args.in<float>(3) : nullptr, rstd = args.in<float>(centered ? 4 : 3);
    constexpr size_t last = centered ? 5 : 4;
    const T* addend = args.inputs.size() > last ? args.in<T>(last) : nullptr;
    parallel_for(threads, chunks.chunks, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t k = begin; k < end; ++k) {
        std::fill_n(sums + k * pitch, pitch, 0.0f);
        for (int64_t r = chunks.begin(k); r < chunks.end(k); ++r) {
          int64_t at = r * e.width;
          NormalRow<centered, T> row{args.in<T>(1) + at, mean ? mean[r] : 0, rstd[r]};
          add_norm_row(row, e.width, args.in<T>(0) + at, args.in<float>(2),
                       addend ? addend + at : nullptr, args.out<T>(0) + at, sums + k * pitch);
        }
      }
    });
    for (int64_t k = 0; k < pitch / e.width; ++k)
      add_up_chunks(chunks, sums + k * e.width, pitch, e.width,
                    args.out<float>(static_cast<size_t>(1 + k)));
  });
}

}  // namespace

template <>
Kernel make_cpu(const LayerNormOp& op, const KernelRequest& request) {
  return normalize_rows<true>(op.attributes(), request);
}
template <>
Kernel make_cpu(const RmsNormOp& op, const KernelRequest& request) {
  return normalize_rows<false>(op.attributes(), request);
}
template <>
Kernel make_cpu(const LayerNormBackwardOp&, const KernelRequest& request) {
  return differentiate_rows<true>(request);
}
template <>
Kernel make_cpu(const RmsNormBackwardOp&, const KernelRequest& request) {
  return differentiate_rows<false>(request);
}

}  // namespace spire
