// Dispatch from a dtype to the C++ type of its elements, and makers of kernels that are templates
// over that type. Kernels of every dtype compute in fp32.
#pragma once
#include <memory>
#include <utility>

#include <spire/error.h>

#include "engine/base/dtype.h"
#include "kernels/kernel.h"

namespace spire::inline kernels {

// Calls visit(float{}) or visit(bfloat16{}), the types of CPU kernels.
template <typename Visit>
decltype(auto) with_float_type(DType dtype, const Visit& visit) {
  if (dtype == DType::f32) return visit(float{});
  require(dtype == DType::bf16, "no kernel computes on {}", name(dtype));
  return visit(bfloat16{});
}

// Likewise, also with float16, for CUDA kernels.
template <typename Visit>
decltype(auto) with_cuda_float_type(DType dtype, const Visit& visit) {
  return with_any_float_type(dtype, visit);
}

// Returns K<T>(arguments...) with T of `dtype`, for a CPU and for a GPU. Static, as GCC 12 gives a
// function template one symbol for all files, even with a class of an anonymous namespace.
template <template <typename> class K, typename... Arguments>
static std::unique_ptr<Kernel> make_typed(DType dtype, Arguments&&... arguments) {
  return with_float_type(dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<K<decltype(type)>>(std::forward<Arguments>(arguments)...);
  });
}

template <template <typename> class K, typename... Arguments>
static std::unique_ptr<Kernel> make_typed_cuda(DType dtype, Arguments&&... arguments) {
  return with_cuda_float_type(dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<K<decltype(type)>>(std::forward<Arguments>(arguments)...);
  });
}

}  // namespace spire::inline kernels
