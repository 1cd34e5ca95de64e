#include "engine/device/cuda_error.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/float_type.h"

namespace spire::inline kernels {
namespace {

struct Same {
  __device__ float operator()(float x) const { return x; }
};

}  // namespace

Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows) {
  const Shape& shape = request.inputs[static_cast<size_t>(input)].shape;
  int64_t n = shape.elements(), more = rows > 0 ? n / shape[0] * rows - n : 0;
  auto cast = [=](const float* plain, void* packed, int64_t first, int64_t last, void* stream) {
    if (first == last) return;
    with_cuda_float_type(dtype, [&](auto type) {
      auto* to = static_cast<decltype(type)*>(packed);
      elementwise_cuda(stream, n, to, Same{}, plain);
      if (more == 0) return;
      check_cuda(cudaMemsetAsync(to + n, 0, static_cast<size_t>(more) * sizeof *to,
                                 static_cast<cudaStream_t>(stream)),
                 "cudaMemsetAsync");
    });
  };
  return {
      .input = input,
      .form = fmt::format("plain {}{}", name(dtype), more ? fmt::format(" of {} rows", rows) : ""),
      .bytes = static_cast<size_t>(n + more) * size_of(dtype),
      .units = 1,
      .pack_units = cast};
}

}  // namespace spire::inline kernels
