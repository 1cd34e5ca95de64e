// Dispatch from a dtype to the C++ type of its elements: fp32, bf16 and, on GPUs, fp16. Kernels
// compute all of them in fp32.
#pragma once
#include <spire/error.h>

#include "engine/base/dtype.h"

namespace spire::inline kernels {

inline bool is_float_type(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

// Calls visit(float{}) or visit(bfloat16{}), the types of CPU kernels; decltype gives T inside.
template <typename Visit>
decltype(auto) with_float_type(DType dtype, const Visit& visit) {
  if (dtype == DType::f32) return visit(float{});
  require(dtype == DType::bf16, "no kernel computes on {}", name(dtype));
  return visit(bfloat16{});
}

// The same with float16, for CUDA kernels.
template <typename Visit>
decltype(auto) with_cuda_float_type(DType dtype, const Visit& visit) {
  return with_any_float_type(dtype, visit);
}

}  // namespace spire::inline kernels
