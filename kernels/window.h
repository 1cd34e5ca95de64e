// Windows that slide over the two middle axes of (N, H, W, C), for convolution and pooling.
#pragma once
#include <spire/op.h>
#include <spire/tensor.h>

namespace spire {

struct Window {
  Extent2d kernel{1, 1};
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};  // added on both sides
  Extent2d dilation{1, 1};
};

// Returns the number of positions of the window along each axis: floor((in + 2 padding - dilation
// (kernel - 1) - 1) / stride) + 1. Throws Error(config) if an attribute is out of range or the
// window does not fit.
Extent2d slide(const Op& op, const Window& window, Extent2d input);

// Returns the spec of the pooled x, (N, OH, OW, C). Throws Error(config) as slide() does, and if
// the padding is more than half the kernel: every window must cover some of x.
TensorSpec pooled(const Op& op, const Window& window, const TensorSpec& x);

// Throws Error(config) unless x is (N, H, W, C) of a float type and not empty.
void expect_nhwc(const Op& op, const TensorSpec& x);

// A half-open range of indices.
struct IndexRange {
  int64_t begin = 0, end = 0;
  SPIRE_HOST_DEVICE int64_t size() const { return end - begin; }
};

// One axis of a window without dilation that slides over `in` pixels and has `out` positions.
struct WindowAxis {
  int64_t kernel, stride, padding, in, out;

  // First pixel of the window at position i; negative if it lies in the padding.
  SPIRE_HOST_DEVICE int64_t start(int64_t i) const { return i * stride - padding; }

  // Pixels of x that the window covers at position i, without padding.
  SPIRE_HOST_DEVICE IndexRange pixels(int64_t i) const {
    int64_t first = start(i), last = first + kernel;
    return {first < 0 ? 0 : first, last < in ? last : in};
  }

  // True if windows share pixels.
  SPIRE_HOST_DEVICE bool overlap() const { return stride < kernel; }

  // Pixels from the start of position i to the start of position i + 1. The first position also
  // gets all pixels before it, the last all pixels after it, so that each pixel belongs to exactly
  // one position.
  SPIRE_HOST_DEVICE IndexRange territory(int64_t i) const {
    return {i == 0 ? 0 : start(i), i == out - 1 ? in : start(i + 1)};
  }

  // Positions whose window covers pixel p.
  SPIRE_HOST_DEVICE IndexRange positions(int64_t p) const {
    int64_t last = (p + padding) / stride;
    int64_t before = p + padding - kernel;  // windows with i * stride up to this end before p
    int64_t first = before < 0 ? 0 : before / stride + 1;
    return {first, last + 1 < out ? last + 1 : out};
  }
};

struct WindowAxes {
  WindowAxis h, w;
};

inline WindowAxes axes_of(const Window& window, const Shape& x, const Shape& y) {
  return {{window.kernel.h, window.stride.h, window.padding.h, x[1], y[1]},
          {window.kernel.w, window.stride.w, window.padding.w, x[2], y[2]}};
}

}  // namespace spire
