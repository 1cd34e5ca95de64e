// Dispatch from a dtype to the C++ type of its elements, and makers of kernels that are templates
// over that type. Kernels of every dtype compute in fp32.
#pragma once
#include <memory>
#include <utility>

#include <spire/dtype.h>

#include "kernels/kernel.h"

namespace spire::inline kernels {

// Calls visit(float{}) or visit(bfloat16{}), the types of CPU kernels.
template <typename Visit>
decltype(auto) with_float_type(DType dtype, const Visit& visit) {
  if (dtype == DType::f32) return visit(float{});
  if (dtype != DType::bf16) refuse_float_type(dtype);
  return visit(bfloat16{});
}

// The same for CUDA kernels, which also take float16.
template <typename Visit>
decltype(auto) with_cuda_float_type(DType dtype, const Visit& visit) {
  return with_any_float_type(dtype, visit);
}

// Make the kernel K<T>(arguments...), T being the C++ type of `dtype`: make_typed() for a CPU,
// make_typed_cuda() for a GPU. They are static because GCC 12 gives an instance of a function
// template one symbol in all files, even if K is in an anonymous namespace.
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
