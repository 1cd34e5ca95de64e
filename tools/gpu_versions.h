// What `version` and `devices` say about driver and libraries of GPUs.
#pragma once
#include <string>
#include <vector>

#include "engine/device/gpu_requirements.h"

namespace spire::tool {

// "driver 580.65.06 (CUDA 13.0)", "cuDNN 9.19.0", ..., "kernels for 9.0 and later".
std::vector<std::string> version_texts(const CudaVersions& versions);

// Of these GPUs, a line each: "problem  " and what a run on them ends with, "note     " and what
// makes it slower or is untried; each with its remedy.
std::vector<std::string> finding_lines(const CudaVersions& versions,
                                       const std::vector<CudaDeviceInfo>& gpus);

}  // namespace spire::tool
