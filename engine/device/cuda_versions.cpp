#include "engine/device/cuda_versions.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <fmt/ranges.h>
#include <nccl.h>

#include <spire/error.h>

namespace spire::inline device {
namespace {

// 13010 is 13.1
Version cuda_version(int number) {
  return {number / 1000, number % 1000 / 10, 0};
}

// 91900 is 9.19.0: cuDNN's and NCCL's way
Version library_version(int number) {
  return {number / 10000, number / 100 % 100, number % 100};
}

template <typename Function>
Function* find_in(const std::string& file, const char* name) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<Function*>(::dlsym(library, name)) : nullptr;
}

// cuBLAS holds about 200 MB from the moment it is loaded, which a run on CPUs should not pay for.
Version cublas_version() {
  std::string file = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  auto* get = find_in<decltype(cublasLtGetProperty)>(file, "cublasLtGetProperty");
  int part[3] = {};
  for (int i = 0; get && i < 3; ++i)
    get(static_cast<libraryPropertyType>(MAJOR_VERSION + i), &part[i]);
  return {part[0], part[1], part[2]};
}

// cuDNN opens it by the same name, and then finds it wherever this found it.
Version nvrtc_version() {
  std::string file = fmt::format("libnvrtc.so.{}", CUDART_VERSION / 1000);
  auto* get = find_in<int(int*, int*)>(file, "nvrtcVersion");
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
  cudaGetLastError();  // the runtime keeps the last error for the thread; it has been told
  return some;
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
  versions.cudnn.found = library_version(static_cast<int>(cudnnGetVersion()));
  if (versions.cudnn.found)
    versions.cudnn_cuda = cuda_version(static_cast<int>(cudnnGetCudartVersion()));
  versions.nccl.built = {NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH};
  if (ncclGetVersion(&number) == ncclSuccess) versions.nccl.found = library_version(number);
  versions.cublas.built = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  bool open = has_gpu();
  versions.cublas.found = open ? cublas_version() : versions.cublas.built;
  if (open) versions.nvrtc = nvrtc_version();
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

}  // namespace spire::inline device
