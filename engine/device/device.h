// Names of devices. A device is where towers run: "cpu:1", "cuda:0".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/dtype.h"

namespace spire::inline device {

enum class DeviceKind : uint8_t { cpu, cuda };

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const DeviceId&) const = default;
};

std::string to_string(DeviceId device);        // "cpu:0"
DeviceId parse_device(std::string_view text);  // throws Error(config)

// One GPU as the driver describes it.
struct CudaDeviceInfo {
  int index = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  int compute_major = 0, compute_minor = 0;
  size_t total_bytes = 0;
};

// "cuda:1 (NVIDIA H200, GPU-1b2c3d4e-..., PCI 0000:3b:00.0)": a GPU as people find it again.
std::string describe(const CudaDeviceInfo& gpu);

// What this build and this machine say about CUDA. Never throws: a machine without a driver is
// normal.
struct CudaStatus {
  bool built = false;    // compiled with CUDA
  std::string why_none;  // empty when devices are there: "driver not found", ...
  std::vector<CudaDeviceInfo> devices;
};
CudaStatus discover_cuda();

// Throws Error(device) where the device has no kernels of that type: fp16 on a CPU, bf16 on a GPU
// of before compute capability 8.0.
void expect_precision(DeviceId device, DType dtype);

}  // namespace spire::inline device
