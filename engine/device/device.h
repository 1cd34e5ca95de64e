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
  int index = 0;         // the N of cuda:N, see sort_and_number_gpus()
  int ordinal = 0;       // the CUDA runtime's number of it
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
// Sets the indices of the GPUs that CUDA lists, and sorts the GPUs by index. cudas_own: true if
// CUDA_VISIBLE_DEVICES or CUDA_DEVICE_ORDER is set; indices are then CUDA's ordinals. Else they are
// nvidia-smi's numbers or, if one of these is unknown, places in the order of PCI bus ids, because
// CUDA's own order begins with the fastest GPU.
void sort_and_number_gpus(std::vector<CudaDeviceInfo>& gpus, bool cudas_own);

CudaStatus discover_cuda();  // never throws: a machine without a driver is normal

// Returns whether NCCL_P2P_DISABLE is set (and not 0), by which users forbid peer access to NCCL.
bool peer_access_disabled();

// Pairs of GPU indices, the lower first: GPUs that can access each other's memory (NVLink or PCIe).
// find_peers() returns none if peer_access_disabled(): what fails for NCCL would fail here, too.
using PeerPairs = std::vector<std::pair<int, int>>;
PeerPairs find_peers(const std::vector<CudaDeviceInfo>& gpus);  // never throws

// Throws Error(device) for fp16 on a CPU, and for bf16 on a GPU of compute capability below 8.0.
void expect_precision(DeviceId device, DType dtype);

// Throws Error(device) about cuda:<index>. In builds without CUDA every function that needs a GPU
// only calls it (no_cuda.cpp).
[[noreturn]] void refuse_cuda(int index);

}  // namespace spire
