// Convolutions without groups, and dense layers, as products of matrices whose rows are windows of
// images: forward, and the gradients of data and of weights. Operands are fp32 or bf16; all
// arithmetic is fp32. On processors with AVX-512 this is faster than a library's direct
// convolution, for bf16 too where the processor has no quick bf16 instructions.
#pragma once
#include <memory>

#include "kernels/kernel.h"
#include "kernels/window.h"

namespace spire::inline kernels::product {

// x (N, H, W, C), w (O, C, KH, KW), y (N, OH, OW, O)
struct ConvolutionShape {
  int64_t n = 0, h = 1, w = 1, c = 0;
  int64_t oh = 1, ow = 1, o = 0;
  Window window;

  int64_t taps() const { return window.kernel.h * window.kernel.w; }
  // True if each row of x gives one row of y, as in a dense layer.
  bool is_dense() const {
    return taps() == 1 && window.stride == Extent2d{} && window.padding == Extent2d{0, 0};
  }
  // True if a row of a window has enough numbers for the columns of a tile.
  bool has_wide_rows() const { return taps() == 1 || window.kernel.w * c >= 48; }
  // A convolution that is_dense() as one of N * H * W images of a pixel.
  ConvolutionShape by_rows() const;
};

enum class Pass { forward, backward_data, backward_weights };

// Returns whether these kernels are the faster ones for operands of this dtype, in this build and
// on this processor (docs/numerics.md). Fixed rules, not timings: equal machines get equal bits.
bool tiles_are_faster(Pass pass, const ConvolutionShape& shape, DType dtype);

struct ForwardOptions {
  bool bias = false, relu = false;
};

// Inputs: x, w, and b (O) if there is a bias. Output: y.
std::unique_ptr<Kernel> tiled_forward(const ConvolutionShape& shape, const ForwardOptions& options,
                                      const KernelRequest& request);
// Inputs: dy, w. Output: dx.
std::unique_ptr<Kernel> tiled_backward_data(const ConvolutionShape& shape,
                                            const KernelRequest& request);
// Inputs: x, dy. Outputs: dw, and db (O) if there is a bias; fp32.
std::unique_ptr<Kernel> tiled_backward_weights(const ConvolutionShape& shape, bool bias,
                                               const KernelRequest& request);

}  // namespace spire::inline kernels::product
