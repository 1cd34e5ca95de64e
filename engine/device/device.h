// Devices, on which towers run, by name: "cpu:1", "cuda:0".
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

struct CudaDeviceInfo {  // as the driver describes it
  int index = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  int compute_major = 0, compute_minor = 0;  // compute capability
  size_t total_bytes = 0;
};

// "cuda:1 (NVIDIA H200, GPU-1b2c3d4e-..., PCI 0000:3b:00.0)"
std::string describe(const CudaDeviceInfo& gpu);

struct CudaStatus {      // in this build and on this machine
  bool built = false;    // compiled with CUDA
  std::string why_none;  // reason if there is no device, else empty
  std::vector<CudaDeviceInfo> devices;
};
CudaStatus discover_cuda();  // never throws: a machine without a driver is normal

// Pairs of GPUs, the lower index first, that access each other's memory over NVLink or PCIe.
using PeerPairs = std::vector<std::pair<int, int>>;
PeerPairs find_peers(int count);  // among GPUs 0 to count - 1; never throws

// Throws Error(device) for fp16 on a CPU, and bf16 on a GPU of a compute capability below 8.0.
void expect_precision(DeviceId device, DType dtype);

// Throws Error(device). Defined only in builds without CUDA (no_cuda.cpp).
[[noreturn]] void refuse_cuda(int index);

}  // namespace spire::inline device
