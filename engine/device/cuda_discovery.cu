// Device discovery by the CUDA runtime. The runtime is linked statically and finds the driver by
// itself, so that this file also runs, and says so, on a machine that has none. No call here makes
// a context on a device.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <nccl.h>

#include <cstdio>

#include <spire/device/device.h>

namespace spire {
namespace {

std::string dotted(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string dotted(int major, int minor, int patch) {
  return dotted(major, minor) + "." + std::to_string(patch);
}

// 13010 is 13.1
std::string cuda_version(int number) {
  return dotted(number / 1000, number % 1000 / 10);
}

// 91900 is 9.19.0: cuDNN's and NCCL's way
std::string library_version(int number) {
  return dotted(number / 10000, number / 100 % 100, number % 100);
}

// cuBLAS holds about 200 MB from the moment it is loaded, which a run on CPUs should not pay for.
// So it is opened only where a device is; elsewhere this is the version that the build was made
// with.
std::string cublas_version(bool has_device) {
  int part[3] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  if (!has_device) return dotted(part[0], part[1], part[2]);
  std::string file = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays open: kernels use it
  if (!library) return "";
  void* symbol = dlsym(library, "cublasLtGetProperty");
  if (!symbol) return "";
  auto get = reinterpret_cast<decltype(&cublasLtGetProperty)>(symbol);
  for (int i = 0; i < 3; ++i) get(static_cast<libraryPropertyType>(MAJOR_VERSION + i), &part[i]);
  return dotted(part[0], part[1], part[2]);
}

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

std::string why(cudaError_t error, const CudaStatus& status) {
  if (status.driver.empty()) return "driver not found: this machine has no NVIDIA driver";
  if (error == cudaErrorInsufficientDriver) {
    return "the driver knows CUDA " + status.driver + ", this build needs " + status.toolkit +
           ": update the driver";
  }
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    return "the driver shows no device: look at nvidia-smi and CUDA_VISIBLE_DEVICES";
  }
  return std::string("the driver failed: ") + cudaGetErrorString(error);
}

void read_versions(CudaStatus& status) {
  int runtime = 0, driver = 0, nccl = 0;
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) status.toolkit = cuda_version(runtime);
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
    status.driver = cuda_version(driver);
  }
  if (ncclGetVersion(&nccl) == ncclSuccess) status.nccl = library_version(nccl);
  status.cudnn = library_version(static_cast<int>(cudnnGetVersion()));
}

}  // namespace

CudaStatus discover_cuda() {
  CudaStatus status;
  status.built = true;
  read_versions(status);
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  for (int i = 0; error == cudaSuccess && i < count; ++i) {
    cudaDeviceProp properties;
    error = cudaGetDeviceProperties(&properties, i);
    if (error == cudaSuccess) status.devices.push_back(describe(i, properties));
  }
  status.cublas = cublas_version(!status.devices.empty());
  if (status.devices.empty()) status.why_none = why(error, status);
  cudaGetLastError();  // the runtime keeps the last error for the thread; it has been told
  return status;
}

}  // namespace spire
