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
  return {
      .input = input,
      .form = fmt::format("plain {}{}", name(dtype), more ? fmt::format(" of {} rows", rows) : ""),
      .bytes = static_cast<size_t>(n + more) * size_of(dtype),
      .units = 1,
      .pack_units = cast};
}

std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request) {
  Shape shape = request.inputs[static_cast<size_t>(input)].shape;
  if (same_order(shape)) {
    if (dtype == DType::f32) return {};
    return {cast_packing(input, dtype, request)};
  }
  int64_t stride = shape[1] * shape[2] * shape[3];
  auto pack = [=](const float* plain, void* packed, int64_t first, int64_t last, void* stream) {
    if (first == last) return;
    auto bytes = static_cast<size_t>(first * stride) * size_of(dtype);
    launch_krsc(stream, shape, dtype, last - first, plain + first * stride,
                static_cast<std::byte*>(packed) + bytes);
  };
  return {{.input = input,
           .form = fmt::format("krsc {}", name(dtype)),
           .bytes = static_cast<size_t>(shape.elements()) * size_of(dtype),
           .units = shape[0],
           .pack_units = pack}};
}

}  // namespace spire
