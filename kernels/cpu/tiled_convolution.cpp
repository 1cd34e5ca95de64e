#include "kernels/cpu/tiled_convolution.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include "kernels/cpu/row_kernel.h"
#include "kernels/cpu/weight_packing.h"

namespace spire::product {
namespace {

// Tiles are laid out for AVX-512.
#ifdef __AVX512F__
constexpr bool wide_registers = true;
#else
constexpr bool wide_registers = false;
#endif

// Intel's vdpbf16ps has half the rate of fp32's multiply-adds, AMD's twice that rate, and AMX is
// many times as fast. Other processors with AVX-512 have no such instruction.
bool has_quick_bf16() {
  auto isa = static_cast<int>(dnnl::get_effective_cpu_isa());
  if (isa >= static_cast<int>(dnnl::cpu_isa::avx512_core_amx)) return true;
  return isa >= static_cast<int>(dnnl::cpu_isa::avx512_core_bf16) && __builtin_cpu_is("amd");
}

// Segments that go on where the one before ends, in a and in b, are one.
void append(std::vector<Segment>& segments, const Segment& next) {
  if (!segments.empty()) {
    Segment& last = segments.back();
    if (last.a + last.depth == next.a && last.b + last.depth == next.b) {
      last.depth += next.depth;
      return;
    }
  }
  segments.push_back(next);
}

// Rows of x that an axis of the windows covers.
int64_t covered(int64_t positions, int64_t kernel, int64_t stride, int64_t dilation) {
  return (positions - 1) * stride + (kernel - 1) * dilation + 1;
}

Factors::Form panel_form(DType dtype) {
  return dtype == DType::f32 ? Factors::Form::panels_f32 : Factors::Form::panels_bf16;
}

// Along one axis, the taps that reach the rows of dx with one remainder modulo the stride:
// dx[remainder + i * stride] is a sum over dy[i + shift].
struct RemainderTaps {
  struct Tap {
    int64_t index, shift;
  };
  int64_t remainder = 0, count = 0;  // of rows of dx
  std::vector<Tap> taps;             // shift ascends

  static std::vector<RemainderTaps> of_axis(int64_t size, int64_t kernel, int64_t stride,
                                            int64_t padding, int64_t dilation) {
    std::vector<RemainderTaps> all;
    for (int64_t remainder = 0; remainder < std::min(stride, size); ++remainder) {
      RemainderTaps taps{remainder, (size - remainder + stride - 1) / stride, {}};
      for (int64_t tap = kernel - 1; tap >= 0; --tap) {
        int64_t distance = remainder + padding - tap * dilation;
        if (distance % stride == 0) taps.taps.push_back({tap, distance / stride});
      }
      all.push_back(taps);
    }
    return all;
  }
};

// Zeros before and rows altogether that all taps of an axis need around dy.
struct Border {
  int64_t before = 0, size = 1;

  static Border around(const std::vector<RemainderTaps>& all) {
    int64_t least = 0, end = 1;
    for (const RemainderTaps& taps : all) {
      for (const RemainderTaps::Tap& tap : taps.taps) {
        least = std::min(least, tap.shift);
        end = std::max(end, taps.count + tap.shift);
      }
    }
    return {-least, end - least};
  }
};

// The rows of dx with the remainders of i and j. Images of dy begin with `before` rows and columns
// of zeros and are `width` wide.
RowGroup remainder_group(const ConvolutionShape& shape, const RemainderTaps& i,
                         const RemainderTaps& j, const Extent2d& before, int64_t width) {
  const Window& window = shape.window;
  int64_t line = width * shape.o;
  RowGroup group;
  for (int64_t y = 0; y < i.count; ++y) {
    for (int64_t x = 0; x < j.count; ++x) {
      int64_t row = i.remainder + y * window.stride.h, column = j.remainder + x * window.stride.w;
      group.from.push_back(y * line + x * shape.o);
      group.to.push_back((row * shape.w + column) * shape.c);
    }
  }
  for (const RemainderTaps::Tap& r : i.taps)
    for (const RemainderTaps::Tap& s : j.taps)
      append(group.segments,
             {(r.shift + before.h) * line + (s.shift + before.w) * shape.o,
              (shape.taps() - 1 - (r.index * window.kernel.w + s.index)) * shape.o, shape.o});
  return group;
}

}  // namespace

ConvolutionShape ConvolutionShape::as_pixels() const {
  ConvolutionShape rows = *this;
  rows.n = n * h * w;
  rows.h = rows.w = rows.oh = rows.ow = 1;
  return rows;
}

PaddedImages padded_input(const ConvolutionShape& shape) {
  const Window& window = shape.window;
  PaddedImages images{shape.h, shape.w, shape.c, window.padding.h, window.padding.w};
  images.height = covered(shape.oh, window.kernel.h, window.stride.h, window.dilation.h);
  images.width = covered(shape.ow, window.kernel.w, window.stride.w, window.dilation.w);
  // Rows at the end that no window covers need not be cut off where there is no padding.
  if (window.padding == Extent2d{0, 0}) images.height = shape.h, images.width = shape.w;
  return images;
}

bool fp32_is_fastest(DType dtype) {
  if (dtype == DType::bf16) return wide_registers && !has_quick_bf16();
  return wide_registers && dtype == DType::f32;
}

bool tiles_are_faster(Pass pass, const ConvolutionShape& shape, DType dtype) {
  if (!fp32_is_fastest(dtype)) return false;
  if (dtype == DType::bf16) return pass != Pass::backward_weights || shape.has_wide_rows();
  // In fp32 a library is as quick, but for gradients through wide layers.
  constexpr int64_t wide = 256;
  return pass == Pass::backward_data && std::min(shape.c, shape.o) >= wide;
}

Kernel tiled_forward(const ConvolutionShape& given, const ForwardOptions& options,
                     const KernelRequest& request) {
  ConvolutionShape shape = given.is_dense() ? given.as_pixels() : given;
  const Window& window = shape.window;
  RowKernelOptions rows;
  rows.count = shape.n;
  rows.images = padded_input(shape);
  rows.output_size = shape.oh * shape.ow * shape.o;
  int64_t line = rows.images.width * shape.c;
  RowGroup group;
  for (int64_t i = 0; i < shape.oh; ++i) {
    for (int64_t j = 0; j < shape.ow; ++j) {
      group.from.push_back(i * window.stride.h * line + j * window.stride.w * shape.c);
      group.to.push_back((i * shape.ow + j) * shape.o);
    }
  }
  for (int64_t r = 0; r < window.kernel.h; ++r)
    for (int64_t s = 0; s < window.kernel.w; ++s)
      append(group.segments, {r * window.dilation.h * line + s * window.dilation.w * shape.c,
                              (r * window.kernel.w + s) * shape.c, shape.c});
  rows.groups.push_back(std::move(group));
  DType dtype = request.inputs[0].dtype;
  rows.factors = {panel_form(dtype), shape.taps() * shape.c, shape.o};
  rows.packings.push_back(panel_packing(1, {.columns = shape.o,
                                            .inner = shape.c,
                                            .taps = shape.taps(),
                                            .column_stride = shape.c * shape.taps(),
                                            .inner_stride = shape.taps(),
                                            .dtype = dtype}));
  rows.bias = options.bias;
  rows.relu = options.relu;
  return make_row_kernel(std::move(rows), request);
}

// Each remainder modulo the strides is a convolution of its own of dy, with some of the taps.
Kernel tiled_backward_data(const ConvolutionShape& given, const KernelRequest& request) {
  ConvolutionShape shape = given.is_dense() ? given.as_pixels() : given;
  if (shape.is_dense() && is_deep(shape.o))
    return make_deep_product(shape.n, shape.o, shape.c, request);
  const Window& window = shape.window;
  auto down = RemainderTaps::of_axis(shape.h, window.kernel.h, window.stride.h, window.padding.h,
                                     window.dilation.h);
  auto across = RemainderTaps::of_axis(shape.w, window.kernel.w, window.stride.w, window.padding.w,
                                       window.dilation.w);
  Border vertical = Border::around(down), horizontal = Border::around(across);
  RowKernelOptions rows;
  rows.count = shape.n;
  rows.images = {shape.oh,          shape.ow,      shape.o,        vertical.before,
                 horizontal.before, vertical.size, horizontal.size};
  rows.output_size = shape.h * shape.w * shape.c;
  for (const RemainderTaps& i : down)
    for (const RemainderTaps& j : across)
      rows.groups.push_back(
          remainder_group(shape, i, j, {vertical.before, horizontal.before}, rows.images.width));
  rows.factors = {Factors::Form::rows_f32, shape.taps() * shape.o, shape.c, shape.c};
  if (shape.taps() > 1) {
    DType dtype = request.inputs[0].dtype;
    rows.factors.form = panel_form(dtype);
    rows.packings.push_back(panel_packing(1, {.columns = shape.c,
                                              .inner = shape.o,
                                              .taps = shape.taps(),
                                              .column_stride = shape.taps(),
                                              .inner_stride = shape.c * shape.taps(),
                                              .flipped = true,
                                              .dtype = dtype}));
  }
  return make_row_kernel(std::move(rows), request);
}

}  // namespace spire::product
