// Discovery of GPUs and of the versions of driver and libraries. The CUDA runtime is linked
// statically and finds the driver by itself, so this also works, and says so, on a machine without
// one. No call here creates a context on a device.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <fmt/ranges.h>
#include <nccl.h>

#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"
#include "engine/device/device.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/nvidia_library.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "engine/device/visible_gpus.h"

namespace spire {
namespace {

// Decodes a CUDA version: 13010 is 13.1.
Version cuda_version(int number) {
  return {number / 1000, number % 1000 / 10, 0};
}

// Decodes a version of cuDNN or NCCL: 91900 is 9.19.0.
Version library_version(int number) {
  return {number / 10000, number / 100 % 100, number % 100};
}

Version cublas_version() {
  auto* get = cublaslt_library().find<decltype(cublasLtGetProperty)>("cublasLtGetProperty");
  int part[3] = {};
  for (int i = 0; get && i < 3; ++i)
    get(static_cast<libraryPropertyType>(MAJOR_VERSION + i), &part[i]);
  return {part[0], part[1], part[2]};
}

Version nccl_version() {
  auto* get = nccl_library().find<decltype(ncclGetVersion)>("ncclGetVersion");
  int number = 0;
  return get && get(&number) == ncclSuccess ? library_version(number) : Version{};
}

Version nvrtc_version() {
  auto* get = nvrtc_library().find<int(int*, int*)>("nvrtcVersion");
  Version version;
  if (get) get(&version.major, &version.minor);
  return version;
}

std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  return parse_driver_version(std::string(std::istreambuf_iterator<char>(file), {}));
}

bool has_gpu() {
  int count = 0;
  bool some = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();  // clears the thread's error, which later calls would else report
  return some;
}

// Formats the digits of a UUID as nvidia-smi does: "-1b2c3d4e-...".
std::string uuid_digits(const cudaUUID_t& uuid) {
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
  }
  return text;
}

CudaDeviceInfo describe(int ordinal, const cudaDeviceProp& properties) {
  CudaDeviceInfo info;
  info.ordinal = ordinal;
  info.name = properties.name;
  info.uuid = "GPU" + uuid_digits(properties.uuid);
  // "0000:3b:00.0": unlike the index, not changed by CUDA_VISIBLE_DEVICES.
  char bus_id[32] = {};
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, ordinal) == cudaSuccess)
    info.pci_bus_id = normal_pci_bus_id(bus_id);
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.total_bytes = properties.totalGlobalMem;
  return info;
}

void find_libraries(CudaVersions& versions) {
  versions.cublas.found = cublas_version();
  versions.cublas.why_not = cublaslt_library().why_not();
  versions.nvrtc = nvrtc_version();
  auto* version = cudnn_library().find<decltype(cudnnGetVersion)>("cudnnGetVersion");
  auto* made_for = cudnn_library().find<decltype(cudnnGetCudartVersion)>("cudnnGetCudartVersion");
  if (version && made_for) {
    versions.cudnn.found = library_version(static_cast<int>(version()));
    versions.cudnn_cuda = cuda_version(static_cast<int>(made_for()));
  }
  versions.cudnn.why_not = cudnn_library().why_not();
  versions.nccl.found = nccl_version();
  versions.nccl.why_not = nccl_library().why_not();
}

// Explains why there is no GPU.
std::string why_none(cudaError_t error) {
  CudaVersions versions = *cuda_versions();
  if (!versions.driver_cuda)
    return libcuda_problem(GpuMonitor()).value_or("no NVIDIA driver was found on this machine");
  if (auto problem = driver_problem(versions)) return *problem;
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    return "the NVIDIA driver lists no GPU (check nvidia-smi and CUDA_VISIBLE_DEVICES)";
  }
  return std::string("the NVIDIA driver failed: ") + cudaGetErrorString(error);
}

}  // namespace

std::optional<CudaVersions> cuda_versions() {
  CudaVersions versions;
  versions.toolkit = cuda_version(CUDART_VERSION);
  versions.architectures = SPIRE_GPU_CODE;
  int number = 0;
  if (cudaDriverGetVersion(&number) == cudaSuccess) versions.driver_cuda = cuda_version(number);
  versions.driver = driver_version();
  versions.cudnn.built = {CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL};
  versions.nccl.built = {NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH};
  versions.cublas.built = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  if (has_gpu()) find_libraries(versions);
  return versions;
}

void expect_usable_gpu(int index) {
  CudaVersions versions = *cuda_versions();
  std::vector<std::string> problems = version_problems(versions);
  std::vector<CudaDeviceInfo> gpus = discover_cuda().devices;
  auto gpu = std::ranges::find(gpus, index, &CudaDeviceInfo::index);
  if (gpu != gpus.end()) {
    if (auto problem = code_problem(versions, *gpu)) problems.push_back(*problem);
  }
  if (!problems.empty()) fail(Category::device, "{}", fmt::join(problems, "\n"));
}

namespace {

// nvidia-smi's number of the GPU. CUDA shows a MIG device, too, as a GPU: it is known by the digits
// of its UUID or, where CUDA gives those of the GPU around it, as the one that CUDA shows.
void add_host_facts(CudaDeviceInfo& gpu, const GpuMonitor& monitor) {
  const HostGpu* host = monitor.find(gpu.pci_bus_id);
  if (!host) return;
  gpu.host_number = host->number;
  if (host->mig_devices.empty()) return;
  std::string as_mig = "MIG" + gpu.uuid.substr(3);
  if (mig_index(*host, as_mig)) {
    gpu.uuid = as_mig;
    return;
  }
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<std::string> shown =
      visible_gpus(list ? std::optional<std::string>(list) : std::nullopt,
                   gpus_counted_by_cuda(monitor.gpus()))
          .uuids;
  if (shown.size() == 1 && shown[0].starts_with("MIG-")) gpu.uuid = shown[0];
}

CudaStatus list_gpus_of_cuda() {
  CudaStatus status;
  status.built = true;
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  for (int i = 0; error == cudaSuccess && i < count; ++i) {
    cudaDeviceProp properties;
    error = cudaGetDeviceProperties(&properties, i);
    if (error == cudaSuccess) status.devices.push_back(describe(i, properties));
  }
  if (status.devices.empty()) status.why_none = why_none(error);
  cudaGetLastError();  // clears the thread's error, which later calls would else report
  GpuMonitor monitor;
  for (CudaDeviceInfo& gpu : status.devices) add_host_facts(gpu, monitor);
  sort_and_number_gpus(status.devices,
                       std::getenv("CUDA_VISIBLE_DEVICES") || std::getenv("CUDA_DEVICE_ORDER"));
  remember_gpus(status.devices);
  return status;
}

}  // namespace

// A process sees the same GPUs as long as it lives. Numbers of chosen ones must not change, either.
CudaStatus discover_cuda() {
  static const CudaStatus status = list_gpus_of_cuda();
  return status;
}

}  // namespace spire
