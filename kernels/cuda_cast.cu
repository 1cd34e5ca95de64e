#include <spire/kernels/cuda_cast.h>
#include <spire/kernels/elementwise_cuda.h>
#include <spire/kernels/float_type.h>

namespace spire {
namespace {

struct Same {
  __device__ float operator()(float x) const { return x; }
};

}  // namespace

Packing cast_packing(int input, DType dtype, const KernelRequest& request) {
  int64_t n = request.inputs[static_cast<size_t>(input)].shape.elements();
  auto cast = [=](const float* plain, void* packed, int64_t first, int64_t last, void* stream) {
    if (first == last) return;
    with_cuda_float_type(dtype, [&](auto type) {
      elementwise_cuda(stream, n, static_cast<decltype(type)*>(packed), Same{}, plain);
    });
  };
  return {.input = input,
          .form = fmt::format("plain {}", name(dtype)),
          .bytes = static_cast<size_t>(n) * size_of(dtype),
          .units = 1,
          .pack_units = cast};
}

}  // namespace spire
