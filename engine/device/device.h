// Properties of devices, on which towers (the shares of a global batch) run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spire/tensor.h>

namespace spire {

struct CudaDeviceInfo {  // a GPU as the driver describes it
  int index = 0;         // the N of cuda:N, see in_spire_order()
  int ordinal = 0;       // CUDA's number of it in this process
  int host_number = -1;  // nvidia-smi's number of it; -1: unknown
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  int compute_major = 0, compute_minor = 0;  // compute capability
  size_t total_bytes = 0;
};

// Returns "0000:3b:00.0" for "0000:3B:00.0" (CUDA), "00000000:3B:00.0" (NVML, nvidia-smi),
// "3b:00.0" (lspci) and "3b:00": domain, bus, device and function in lower case, as sysfs names
// them. The domain has four digits, or more if it is larger. Returns "" for any other text.
std::string normal_pci_bus_id(std::string_view text);

// Returns "cuda:1 (NVIDIA H200, GPU-1b2c3d4e-..., PCI 0000:3b:00.0)".
std::string describe(const CudaDeviceInfo& gpu);

struct CudaStatus {      // what CUDA offers in this build, on this machine
  bool built = false;    // the build has CUDA support
  std::string why_none;  // the reason why there is no device; empty if there is one
  std::vector<CudaDeviceInfo> devices;
};
// Sets the indices of the GPUs that CUDA lists, and sorts by them. Without CUDA_VISIBLE_DEVICES and
// CUDA_DEVICE_ORDER in the environment they are nvidia-smi's numbers, or, where these are unknown,
// the places in the order of PCI bus ids; CUDA's own order would begin with the fastest GPU. With
// either variable they are CUDA's ordinals.
void in_spire_order(std::vector<CudaDeviceInfo>& gpus, bool cudas_own);

CudaStatus discover_cuda();  // never throws: a machine without a driver is normal

// Tells whether NCCL_P2P_DISABLE is set, by which users keep NCCL from accesses between GPUs.
bool peer_access_disabled();

// Pairs of GPUs, the lower index first, that can access each other's memory (NVLink or PCIe). None
// if peer_access_disabled(): the hardware that fails there fails here, too.
using PeerPairs = std::vector<std::pair<int, int>>;
PeerPairs find_peers(const std::vector<CudaDeviceInfo>& gpus);  // never throws

// Throws Error(device) for fp16 on a CPU, and for bf16 on a GPU of compute capability below 8.0.
void expect_precision(DeviceId device, DType dtype);

// Throws Error(device). Builds without CUDA call it in place of what needs a GPU (no_cuda.cpp).
[[noreturn]] void refuse_cuda(int index);

}  // namespace spire
