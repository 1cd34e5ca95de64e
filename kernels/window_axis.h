// Which pixels a window sees, and which windows see a pixel: what pooling loops over, on the CPU
// and on the device.
#pragma once
#include <algorithm>

#include "engine/base/host_device.h"
#include "kernels/window.h"

namespace spire::inline kernels {

struct IndexRange {
  int64_t begin = 0, end = 0;
  SPIRE_HOST_DEVICE int64_t size() const { return end - begin; }
};

// One axis of a window without dilation over `in` pixels, at `out` positions.
struct WindowAxis {
  int64_t kernel, stride, padding, in, out;

  // First pixel under position i; negative in the padding.
  SPIRE_HOST_DEVICE int64_t start(int64_t i) const { return i * stride - padding; }

  // Pixels under position i.
  SPIRE_HOST_DEVICE IndexRange pixels(int64_t i) const {
    return {std::max<int64_t>(0, start(i)), std::min(in, start(i) + kernel)};
  }

  // Two windows see one pixel.
  SPIRE_HOST_DEVICE bool overlap() const { return stride < kernel; }

  // Pixels from position i's start to the next one's; the first and last take what lies outside.
  SPIRE_HOST_DEVICE IndexRange territory(int64_t i) const {
    return {i == 0 ? 0 : start(i), i == out - 1 ? in : start(i + 1)};
  }

  // Positions whose window covers pixel p.
  SPIRE_HOST_DEVICE IndexRange positions(int64_t p) const {
    int64_t last = (p + padding) / stride;
    int64_t before =
        p + padding - kernel;  // the last window that ended before p starts here or less
    int64_t first = before < 0 ? 0 : before / stride + 1;
    return {first, std::min(out, last + 1)};
  }
};

struct WindowAxes {
  WindowAxis h, w;
};

inline WindowAxes axes_of(const Window& window, const Shape& x, const Shape& y) {
  return {{window.kernel.h, window.stride.h, window.padding.h, x[1], y[1]},
          {window.kernel.w, window.stride.w, window.padding.w, x[2], y[2]}};
}

}  // namespace spire::inline kernels
