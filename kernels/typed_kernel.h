// Kernels that are templates over the element type, made for the dtype of a tensor.
//
// The makers are static: GCC 12 gives a function that is instantiated for a class template of an
// anonymous namespace one symbol for all files, so that classes of one name (BackwardKernel) would
// be made in each other's place wherever it is not inlined.
#pragma once
#include <utility>

#include "kernels/float_type.h"
#include "kernels/kernel.h"

namespace spire::inline kernels {

// K<T>(arguments...) with T of `dtype`: fp32 or bf16.
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
