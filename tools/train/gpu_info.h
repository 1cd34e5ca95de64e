// A GPU in the words of hardware.h.
#pragma once
#include "engine/device/device.h"
#include "tools/train/hardware.h"

namespace spire {

GpuInfo gpu_info(const CudaDeviceInfo& gpu);

}  // namespace spire
