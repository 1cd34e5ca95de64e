// Checks of windows, and the extents that they make.
#include "kernels/window.h"

#include <fmt/format.h>

#include "kernels/expect.h"

namespace spire {

std::string to_string(Extent2d extent) {
  return fmt::format("{}x{}", extent.h, extent.w);
}

std::string to_short_string(Extent2d extent) {
  return extent.h == extent.w ? fmt::format("{}", extent.h) : to_string(extent);
}

Extent2d slide(const Op& op, const Window& window, Extent2d input) {
  const auto& [kernel, stride, padding, dilation] = window;
  expect(op, kernel.h > 0 && kernel.w > 0, "kernel must be at least 1x1, got {}",
         to_string(kernel));
  expect(op, stride.h > 0 && stride.w > 0, "stride must be at least 1, got {}",
         to_short_string(stride));
  expect(op, padding.h >= 0 && padding.w >= 0, "padding must not be negative, got {}",
         to_short_string(padding));
  expect(op, dilation.h > 0 && dilation.w > 0, "dilation must be at least 1, got {}",
         to_short_string(dilation));
  // Steps that the dilated kernel, of dilation (kernel - 1) + 1 pixels, can go within the padded
  // input.
  int64_t room_h = input.h + 2 * padding.h - dilation.h * (kernel.h - 1) - 1;
  int64_t room_w = input.w + 2 * padding.w - dilation.w * (kernel.w - 1) - 1;
  expect(op, room_h >= 0 && room_w >= 0,
         "kernel {} with dilation {} does not fit input {} with padding {}", to_string(kernel),
         to_short_string(dilation), to_string(input), to_short_string(padding));
  return {room_h / stride.h + 1, room_w / stride.w + 1};
}

TensorSpec pooled(const Op& op, const Window& window, const TensorSpec& x) {
  expect_nhwc(op, x);
  Extent2d out = slide(op, window, extent_of(x.shape));
  // With more padding a window could cover no pixel of x: it would have no maximum, and no mean.
  expect(op, 2 * window.padding.h <= window.kernel.h && 2 * window.padding.w <= window.kernel.w,
         "padding {} is more than half of kernel {}", to_short_string(window.padding),
         to_string(window.kernel));
  return {{x.shape[0], out.h, out.w, x.shape[3]}, x.dtype};
}

void expect_nhwc(const Op& op, const TensorSpec& x) {
  expect(op, x.shape.rank() == 4, "takes an input (N, H, W, C), got {}", to_string(x.shape));
  expect(op, x.shape.elements() > 0, "takes an input that is not empty, got {}",
         to_string(x.shape));
  expect(op, is_float_type(x.dtype), "cannot compute on {}", to_string(x.dtype));
}

}  // namespace spire
