// fp32 parameters in a kernel's dtype, on a GPU.
#pragma once
#include "kernels/kernel.h"

namespace spire::inline kernels {

// The input of that index, a parameter (its spec in `request`), as it lies, rounded to `dtype`.
// Many kernels read the same form. rows: along the first axis, at least the parameter's; those
// behind it are zeros. 0: the parameter's.
Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows = 0);

}  // namespace spire::inline kernels
