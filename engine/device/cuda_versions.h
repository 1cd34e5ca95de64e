// Versions of the driver and of NVIDIA's libraries as this process finds them.
#pragma once
#include <optional>

#include "engine/device/gpu_requirements.h"

namespace spire::inline device {

// Nothing in a build without CUDA. cuBLAS and NVRTC are opened where the machine has a GPU, and
// stay open; elsewhere cuBLAS counts as found, for 200 MB are too much to ask. Never throws.
std::optional<CudaVersions> cuda_versions();

// Before the first kernel: throws Error(device) with all that has to be mended, a line each, where
// the driver, a library or the GPU itself cannot run this build.
void expect_usable_gpu(int index);

}  // namespace spire::inline device
