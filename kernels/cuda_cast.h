// fp32 parameters in a kernel's dtype, on a GPU.
#pragma once
#include <spire/kernels/kernel.h>

namespace spire {

// The input of that index, a parameter (its spec in `request`), as it lies, rounded to `dtype`.
// Many kernels read the same form.
Packing cast_packing(int input, DType dtype, const KernelRequest& request);

}  // namespace spire
