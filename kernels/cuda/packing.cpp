#include "kernels/cuda/packing.h"

#include <cstddef>

#include <fmt/format.h>

#include "engine/device/cuda_error.h"

namespace spire {

Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows) {
  const Shape& shape = request.inputs[static_cast<size_t>(input)].shape;
  // more: elements of the added rows.
  int64_t n = shape.elements(), more = rows > 0 ? n / shape[0] * rows - n : 0;
  // One unit, so the range is all or nothing.
  auto cast = [=](const float* plain, void* packed, int64_t first, int64_t last, void* stream) {
    if (first == last) return;
    launch_cast(stream, n, dtype, plain, packed);
    if (more == 0) return;
    size_t size = size_of(dtype);
    check_cuda(cudaMemsetAsync(static_cast<std::byte*>(packed) + static_cast<size_t>(n) * size, 0,
                               static_cast<size_t>(more) * size, static_cast<cudaStream_t>(stream)),
               "cudaMemsetAsync");
  };
  return {.input = input,
          .form = fmt::format("plain {}{}", to_string(dtype),
                              more ? fmt::format(" of {} rows", rows) : ""),
          .bytes = static_cast<size_t>(n + more) * size_of(dtype),
          .units = 1,
          .pack_units = cast};
}

std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request,
                                   int64_t channels) {
  Shape shape = request.inputs[static_cast<size_t>(input)].shape;
  bool padded = channels > shape[1];
  if (!padded) channels = shape[1];
  if (same_order(shape) && !padded) {
    if (dtype == DType::f32) return {};
    return {cast_packing(input, dtype, request)};
  }
  int64_t pixels = shape[2] * shape[3];
  auto filter_bytes = static_cast<size_t>(channels * pixels) * size_of(dtype);
  auto pack = [=](const float* plain, void* packed, int64_t first, int64_t last, void* stream) {
    if (first == last) return;
    launch_krsc(stream, shape, channels, dtype, last - first, plain + first * shape[1] * pixels,
                static_cast<std::byte*>(packed) + static_cast<size_t>(first) * filter_bytes);
  };
  std::string form = fmt::format("krsc {}", to_string(dtype));
  return {{.input = input,
           .form = padded ? fmt::format("{} of {} channels", form, channels) : form,
           .bytes = static_cast<size_t>(shape[0]) * filter_bytes,
           .units = shape[0],
           .pack_units = pack}};
}

}  // namespace spire
