// The CUDA driver, for what cuDNN does with it on a machine without a GPU.
#pragma once
#include <dlfcn.h>

namespace spire::testing {

// Loads it, or the CUDA toolkit's stub of it. cuDNN's engines that are compiled as they are needed,
// those that fuse among them, are there only with one.
inline bool has_driver() {
  return dlopen("libcuda.so.1", RTLD_NOW) || dlopen(SPIRE_CUDA_DRIVER_STUB, RTLD_NOW);
}

}  // namespace spire::testing
