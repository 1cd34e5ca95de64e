// Loading of a CUDA driver, or of its stub, for tests of cuDNN on a machine without a GPU.
#pragma once
#include <dlfcn.h>

namespace spire::testing {

// Loads the driver, or the toolkit's stub of it. Without one, cuDNN proposes no engine that it
// compiles at run time, such as all fusing ones.
inline bool has_driver() {
  return dlopen("libcuda.so.1", RTLD_NOW) || dlopen(SPIRE_CUDA_DRIVER_STUB, RTLD_NOW);
}

}  // namespace spire::testing
