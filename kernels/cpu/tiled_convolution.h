// Convolutions without groups, and dense layers, as products of matrices whose rows are windows of
// images. Operands are fp32 or bf16; all arithmetic is fp32.
#pragma once
#include "kernels/kernel.h"
#include "kernels/window.h"

namespace spire::product {

struct PaddedImages;

// x (N, H, W, C), w (O, C, KH, KW), y (N, OH, OW, O)
struct ConvolutionShape {
  int64_t n = 0, h = 1, w = 1, c = 0;
  int64_t oh = 1, ow = 1, o = 0;
  Window window;

  int64_t taps() const { return window.kernel.h * window.kernel.w; }
  // True for a 1x1 window with stride 1 and no padding: each pixel of x gives a pixel of y, as the
  // rows of a dense layer do.
  bool is_dense() const {
    return taps() == 1 && window.stride == Extent2d{} && window.padding == Extent2d{0, 0};
  }
  // True if a row of a window has enough numbers to fill the weight gradient's tiles nearly.
  bool has_wide_rows() const { return taps() == 1 || window.kernel.w * c >= 48; }
  ConvolutionShape as_pixels() const;  // N * H * W images of one pixel; REQUIRES: is_dense()
};

PaddedImages padded_input(const ConvolutionShape& shape);

// Returns whether no instruction of this processor multiplies numbers of `dtype` faster than fp32's
// multiply-adds in AVX-512 registers, for which tiles are laid out.
bool fp32_is_fastest(DType dtype);

enum class Pass { forward, backward_data, backward_weights };

// Returns whether the kernels below are faster than oneDNN's on this processor, by fixed rules
// (docs/numerics.md).
bool tiles_are_faster(Pass pass, const ConvolutionShape& shape, DType dtype);

struct ForwardOptions {
  bool bias = false, relu = false;
};

// Inputs: x, w, and b (O) if there is a bias. Output: y.
Kernel tiled_forward(const ConvolutionShape& shape, const ForwardOptions& options,
                     const KernelRequest& request);
// Inputs: dy, w. Output: dx.
Kernel tiled_backward_data(const ConvolutionShape& shape, const KernelRequest& request);
// Inputs: x, dy. Outputs: dw, and db (O) if there is a bias; fp32.
Kernel tiled_backward_weights(const ConvolutionShape& shape, bool bias,
                              const KernelRequest& request);

}  // namespace spire::product
