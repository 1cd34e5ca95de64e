// Resizes (N, H, W, C) to (N, OH, OW, C), as PyTorch's interpolate with align_corners=false. The
// formulas show rows; columns are treated likewise. u = (i + 1/2) H / OH is the middle of row i of
// y, measured in rows of x:
//   nearest:  y[n,i,..] = x[n, floor(i H / OH), ..]
//   bilinear: y[n,i,..] mixes the two rows whose middles enclose u; at an edge it is the outer row
// Op and gradient are weighted gathers, whose taps are summed in ascending order, in fp32.
#pragma once
#include <spire/op.h>
#include <spire/tensor.h>

#include "kernels/window.h"

namespace spire {

struct ResizeTap {
  int64_t source;  // index along the axis that is read
  float weight;
};

// One axis, resized from `from` positions to `to`.
struct ResizeAxis {
  Resize kind;
  int64_t from, to;

  // Sources of position i, in ascending order.
  struct Taps {
    ResizeTap at[2];
    int count;
  };
  SPIRE_HOST_DEVICE Taps taps(int64_t i) const;
  // The first position whose first tap's source is `source` or more; `to` if there is none.
  SPIRE_HOST_DEVICE int64_t first_from(int64_t source) const;
};
// ResizeTaps[i]: the sources of position i of one axis, in ascending order. transposed(): for each
// of `from` sources, the positions that read it.
using ResizeTaps = std::vector<std::vector<ResizeTap>>;
ResizeTaps resize_taps(Resize kind, int64_t from, int64_t to);
ResizeTaps transposed(const ResizeTaps& taps, int64_t from);

// In integers, so that rounding cannot change the sources. u: distance from the middle of source 0
// to that of position i, in units of 1 / (2 * to) of a source; at least 0.
SPIRE_HOST_DEVICE inline ResizeAxis::Taps ResizeAxis::taps(int64_t i) const {
  if (kind == Resize::nearest) return {{{i * from / to, 1.0f}, {}}, 1};
  int64_t u = (2 * i + 1) * from - to;
  u = u < 0 ? 0 : u;
  int64_t source = u / (2 * to);
  auto share = static_cast<float>(static_cast<double>(u % (2 * to)) / static_cast<double>(2 * to));
  if (source + 1 >= from || share == 0) return {{{source, 1.0f}, {}}, 1};
  return {{{source, 1.0f - share}, {source + 1, share}}, 2};
}

SPIRE_HOST_DEVICE inline int64_t ResizeAxis::first_from(int64_t source) const {
  if (source <= 0) return 0;
  // bilinear: the smallest i with (2 * i + 1) * from - to >= 2 * to * source
  int64_t i = kind == Resize::nearest ? (source * to + from - 1) / from
                                      : ((2 * source + 1) * to + from - 1) / from / 2;
  return i < to ? i : to;
}

struct ResizeAttributes {
  Resize kind = Resize::nearest;
  Extent2d size;  // the middle axes of the output
};

// inputs: x. outputs: y.
class ResizeOp : public OpWith<ResizeAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "resize"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy. outputs: dx.
class ResizeBackwardOp : public OpWith<ResizeAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "resize_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

}  // namespace spire
