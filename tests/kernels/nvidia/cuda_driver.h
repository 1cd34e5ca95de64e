// A stub of the CUDA driver, for tests of cuDNN on a machine without a GPU.
#pragma once
#include <dlfcn.h>

namespace spire::testing {

// Loads the driver, or the toolkit's stub of it. cuDNN compiles some engines at run time, all
// fusing ones among them; it proposes them only if there is a driver.
inline bool has_driver() {
  return dlopen("libcuda.so.1", RTLD_NOW) || dlopen(SPIRE_CUDA_DRIVER_STUB, RTLD_NOW);
}

}  // namespace spire::testing
