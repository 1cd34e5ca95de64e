// Device discovery by the CUDA runtime. The runtime is linked statically and finds the driver by
// itself, so that this file also runs, and says so, on a machine that has none. No call here makes
// a context on a device.
#include <cstdio>

#include <cuda_runtime_api.h>

#include "engine/device/cuda_error.h"
#include "engine/device/cuda_versions.h"

namespace spire::inline device {
namespace {

// The form that the driver's own tools print: "GPU-1b2c3d4e-..."
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
  }
  return text;
}

CudaDeviceInfo describe(int index, const cudaDeviceProp& properties) {
  CudaDeviceInfo info;
  info.index = index;
  info.name = properties.name;
  info.uuid = uuid_text(properties.uuid);
  char bus_id[32] = {};  // "0000:3b:00.0", which no device number or environment variable changes
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, index) == cudaSuccess) info.pci_bus_id = bus_id;
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.total_bytes = properties.totalGlobalMem;
  return info;
}

std::string why(cudaError_t error) {
  CudaVersions versions = *cuda_versions();
  if (!versions.driver_cuda) return "no NVIDIA driver was found on this machine";
  if (auto problem = driver_problem(versions)) return *problem;
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    return "the NVIDIA driver lists no GPU (check nvidia-smi and CUDA_VISIBLE_DEVICES)";
  }
  return std::string("the NVIDIA driver failed: ") + cudaGetErrorString(error);
}

}  // namespace

CudaStatus discover_cuda() {
  CudaStatus status;
  status.built = true;
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  for (int i = 0; error == cudaSuccess && i < count; ++i) {
    cudaDeviceProp properties;
    error = cudaGetDeviceProperties(&properties, i);
    if (error == cudaSuccess) status.devices.push_back(describe(i, properties));
  }
  if (status.devices.empty()) status.why_none = why(error);
  cudaGetLastError();  // the runtime keeps the last error for the thread; it has been told
  remember_gpus(status.devices);
  return status;
}

}  // namespace spire::inline device
