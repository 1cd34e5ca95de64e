// Makers of kernels that are templates over the element type.
//
// They are static, as GCC 12 gives a function template one symbol for all files even when it is
// instantiated for a class template of an anonymous namespace: two classes of one name would be
// confused.
#pragma once
#include <utility>

#include "kernels/float_type.h"
#include "kernels/kernel.h"

namespace spire::inline kernels {

// Returns K<T>(arguments...) with T of `dtype`: fp32 or bf16. For CPU kernels.
template <template <typename> class K, typename... Arguments>
static std::unique_ptr<Kernel> make_typed(DType dtype, Arguments&&... arguments) {
  return with_float_type(dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<K<decltype(type)>>(std::forward<Arguments>(arguments)...);
  });
}

// The same with fp16, for CUDA kernels.
template <template <typename> class K, typename... Arguments>
static std::unique_ptr<Kernel> make_typed_cuda(DType dtype, Arguments&&... arguments) {
  return with_cuda_float_type(dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<K<decltype(type)>>(std::forward<Arguments>(arguments)...);
  });
}

}  // namespace spire::inline kernels
