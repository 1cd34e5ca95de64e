// A GPU in the words of <spire/hardware.h>.
#pragma once
#include <spire/hardware.h>

#include "engine/device/device.h"

namespace spire {

GpuInfo gpu_info(const CudaDeviceInfo& gpu);

}  // namespace spire
