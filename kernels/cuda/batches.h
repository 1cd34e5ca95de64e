// A thread's strided loop, some items at a time: what a batch loads is in flight together. For .cu
// files.
#pragma once
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

namespace spire::inline kernels {

// body(i, n) for i = first, first + step, ... below end: n items from i on, `batch` at a time and
// the last few one by one. n is a std::integral_constant.
template <int batch, typename Body>
__device__ inline void in_batches(int64_t first, int64_t end, int64_t step, Body body) {
  for (; first + (batch - 1) * step < end; first += batch * step)
    body(first, std::integral_constant<int, batch>{});
  for (; first < end; first += step) body(first, std::integral_constant<int, 1>{});
}

}  // namespace spire::inline kernels
