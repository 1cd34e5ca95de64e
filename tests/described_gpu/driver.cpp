// Stand-in for NVIDIA's driver, libcuda.so.1, on a machine that has none. The functions that cuDNN
// calls to compile the kernels of a plan are there and succeed; there is no GPU, and nothing runs.
// Loaded images are kept, so that tests can read them (driver.h). CUDA's runtime and cuBLASLt do
// not accept it as a driver.
#include <cuda.h>
#include <tests/described_gpu/driver.h>
#undef cuCtxPopCurrent  // its name of today; cuDNN asks for the first one

#include <cstring>
#include <deque>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::deque<std::string> images;

// Returns the size of an ELF file: it ends with its table of sections or that of program headers.
size_t bytes_of_elf(const char* image) {
  auto field = [&](size_t at, size_t width) {
    size_t value = 0;
    std::memcpy(&value, image + at, width);
    return value;
  };
  size_t programs = field(32, 8) + field(54, 2) * field(56, 2);
  size_t sections = field(40, 8) + field(58, 2) * field(60, 2);
  return programs > sections ? programs : sections;
}

CUresult number(int* value, CUfunction_attribute which) {
  bool threads = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
  *value = threads ? 1024 : which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 128 : 0;
  return CUDA_SUCCESS;
}

template <typename To, typename From>
CUresult give(To* to, From from) {
  *to = reinterpret_cast<To>(from);
  return CUDA_SUCCESS;
}

int context;  // of the one device: a pointer that is not null

}  // namespace

extern "C" {

size_t described_images() {
  std::lock_guard lock(mutex);
  return images.size();
}

const void* described_image(size_t index) {
  std::lock_guard lock(mutex);
  return images.at(index).data();
}

CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  return *version = CUDA_VERSION, CUDA_SUCCESS;
}
// Without this, NVRTC would look for compiled code in the driver's cache.
CUresult cuGetExportTable(const void** to, const CUuuid*) {
  return *to = nullptr, CUDA_ERROR_NOT_FOUND;
}
CUresult cuDeviceGetCount(int* count) {
  return *count = 1, CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int) {
  return *device = 0, CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* to) {
  return give(to, &context);
}
CUresult cuCtxPopCurrent(CUcontext* to) {
  return give(to, &context);
}
CUresult cuStreamGetCtx(CUstream, CUcontext* to) {
  return give(to, &context);
}
CUresult cuGetErrorName(CUresult, const char** to) {
  return *to = "none", CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** to) {
  return *to = "none", CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* to, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  std::lock_guard lock(mutex);
  auto* elf = static_cast<const char*>(code);
  return give(to, &images.emplace_back(elf, bytes_of_elf(elf)));
}

CUresult cuLibraryGetKernel(CUkernel* to, CUlibrary from, const char*) {
  return give(to, from);
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute which, CUkernel, CUdevice) {
  return number(value, which);
}

CUresult cuOccupancyMaxPotentialClusterSize(int* value, CUfunction, const CUlaunchConfig*) {
  return *value = 8, CUDA_SUCCESS;
}

}  // extern "C"
