// Dense layers and convolutions whose results do not depend on the order of any sum (precision:
// exact): operands are rounded to grids on which fp64 sums are exact (kernels/exact_grid.h), and
// each result is rounded to fp32 once. So any product of any processor gives the same bits, and a
// sum over samples the same bits for any split of the samples.
//   y = x * w + b    dx = dy * w    dw = x * dy    db = sum dy    (conv2d.h has the indices)
// x (N, H, W, C) and y (N, OH, OW, O) fp32, w (O, C, KH, KW), b (O) fp32 parameters; or x (N, C), y
// (N, O), w (O, C), a dense layer, as images of one pixel. For y and dx there is a grid for each
// sample, and one for w. For dw and db there is one grid for all samples of the global batch, which
// exact_range and a tower_sum find. Another tower_sum adds up the fp64 sums of all towers, and
// exact_gradient rounds the total.
#pragma once
#include <spire/op.h>

#include "kernels/exact_grid.h"
#include "kernels/window.h"

namespace spire {

struct ExactProductAttributes {
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};
  Extent2d dilation{1, 1};
  bool bias = false;
  int64_t global_batch = 1;  // samples of a step over all towers: the length of sums over samples
};

// Inputs: x, w, and b if `bias`. Output: y.
class ExactProductOp : public OpWith<ExactProductAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "exact_product"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// Inputs: dy, w. Output: dx, which is like `x`.
class ExactProductBackwardDataOp : public OpWith<ExactProductAttributes> {
 public:
  ExactProductBackwardDataOp(ExactProductAttributes attributes, TensorSpec x)
      : OpWith(attributes), x_(x) {}

  std::string_view name() const override { return "exact_product_backward_data"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;

 private:
  TensorSpec x_;
};

// Inputs: x, dy, the flags (2, 256) f64 of exact_range over all towers, of x and of dy. Output: the
// sums over this tower's samples, f64: dw as (KH, KW, C, O), behind it db (O) if `bias`.
class ExactProductBackwardWeightsOp : public OpWith<ExactProductAttributes> {
 public:
  ExactProductBackwardWeightsOp(ExactProductAttributes attributes, Shape w)
      : OpWith(attributes), w_(w) {}

  const Shape& filter() const { return w_; }

  std::string_view name() const override { return "exact_product_backward_weights"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;

 private:
  Shape w_;
};

// Return x as (N, H, W, C) and w as (O, C, KH, KW). Those of a dense layer become images and
// filters of one pixel.
Shape as_image(const Shape& x);
Shape as_filter(const Shape& w);

// Which pixels of `in` form the matrix of patches (im2col): it has a row for each pixel of `out` in
// each sample, and a column for each tap of the window and channel. For a convolution `in` is x;
// for its data gradient `in` is dy, and `transposed` is true.
struct Patches {
  Extent2d in, out;
  Window window;
  int64_t channels;  // of `in`
  bool transposed;

  SPIRE_HOST_DEVICE int64_t rows_per_sample() const { return out.h * out.w; }
  SPIRE_HOST_DEVICE int64_t taps() const { return window.kernel.h * window.kernel.w; }
  SPIRE_HOST_DEVICE int64_t columns() const { return taps() * channels; }
  SPIRE_HOST_DEVICE int64_t sample_size() const { return in.h * in.w * channels; }

  // Returns the index in its sample of the pixel that a tap of a row reads; -1: none, which counts
  // as 0.
  SPIRE_HOST_DEVICE int64_t pixel(int64_t row, int64_t tap) const {
    const auto& [kernel, stride, padding, dilation] = window;
    int64_t h = along(row / out.w, tap / kernel.w, stride.h, padding.h, dilation.h, in.h);
    int64_t w = along(row % out.w, tap % kernel.w, stride.w, padding.w, dilation.w, in.w);
    return h < 0 || w < 0 ? -1 : h * in.w + w;
  }

 private:
  SPIRE_HOST_DEVICE int64_t along(int64_t i, int64_t r, int64_t step, int64_t pad, int64_t spread,
                                  int64_t size) const {
    int64_t p = transposed ? i + pad - r * spread : i * step - pad + r * spread;
    if (p < 0 || (transposed && p % step != 0)) return -1;
    p = transposed ? p / step : p;
    return p < size ? p : -1;
  }
};

// Returns the patches of in = x for the results out = y or, transposed, of dy for dx. in, out, w:
// as images and filters.
Patches patches_of(const ExactProductAttributes& attributes, const Shape& in, const Shape& out,
                   const Shape& w, bool transposed);

// Index in w (O, C, KH, KW) of the weight that multiplies a column of patches in result `n`.
struct FilterIndex {
  int64_t outputs, inputs, taps;  // O, C, KH KW
  bool transposed;                // columns are (tap, o), results c; else (tap, c) and o

  SPIRE_HOST_DEVICE int64_t operator()(int64_t column, int64_t n) const {
    int64_t channels = transposed ? outputs : inputs;
    int64_t tap = column / channels, channel = column % channels;
    int64_t o = transposed ? channel : n, c = transposed ? n : channel;
    return (o * inputs + c) * taps + tap;
  }
  // Distance of the weights of two neighbouring results.
  SPIRE_HOST_DEVICE int64_t step() const { return transposed ? taps : inputs * taps; }
};

inline FilterIndex filter_index(const Shape& w, bool transposed) {
  return {w[0], w[1], w[2] * w[3], transposed};
}

// Finds the exponent of the largest magnitude of each tensor, as flags that tower_sum can add up:
// in the sum the highest flag that is not 0 is the exponent over all towers (highest_exponent() in
// exact_grid.h). inputs: K tensors, fp32. outputs: flags (K * 256) f64, 0 or 1. A tensor's highest
// flag that is 1 is the exponent of its largest magnitude; lower flags may be 1, too.
class ExactRangeOp : public Op {
 public:
  std::string_view name() const override { return "exact_range"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

// The gradient of an exact product's parameters, from its total over all towers: rounded to fp32
// once, and given to the first tower alone, so that the sum over towers, which follows as for any
// gradient, adds zeros to it.
// inputs: the total (KH KW C O [+ O]) f64, dw as (KH, KW, C, O), behind it db. outputs: dw like the
// weights (O, C, KH, KW) or (O, C), and db (O) if `bias`, both fp32; zeros unless the tower has the
// global batch's first row.
class ExactGradientOp : public Op {
 public:
  ExactGradientOp(Shape w, bool bias) : w_(w), bias_(bias) {}

  const Shape& weights() const { return w_; }
  bool bias() const { return bias_; }

  std::string_view name() const override { return "exact_gradient"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;

 private:
  Shape w_;
  bool bias_;
};

// How ExactGradientOp makes the entries of dw and db from the totals.
struct ExactGradient {
  int64_t outputs, inputs, taps;  // O, C, KH KW

  SPIRE_HOST_DEVICE int64_t weights() const { return outputs * inputs * taps; }
  // Returns the entry of dw for a row (tap, c) of the totals and an output.
  SPIRE_HOST_DEVICE int64_t index(int64_t row, int64_t o) const {
    return (o * inputs + row % inputs) * taps + row / inputs;
  }
  // -0 becomes 0, as it would in a sum with the zeros of other towers.
  SPIRE_HOST_DEVICE float weight(const double* total, int64_t row, int64_t o) const {
    return rounded(total[row * outputs + o]);
  }
  SPIRE_HOST_DEVICE float bias(const double* total, int64_t o) const {
    return rounded(total[weights() + o]);
  }

 private:
  static SPIRE_HOST_DEVICE float rounded(double sum) {
    auto result = static_cast<float>(sum);
    return result == 0 ? 0.0f : result;
  }
};

inline ExactGradient exact_gradient(const Shape& w) {
  return {w[0], w[1], w.rank() == 4 ? w[2] * w[3] : 1};
}

}  // namespace spire
