#include "engine/device/cuda_error.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <spire/error.h>

namespace spire::inline device {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

struct GpuNames {
  std::mutex mutex;
  std::map<int, std::string> names;
};
GpuNames& gpu_names() {
  static auto* names = new GpuNames;  // for messages of any thread, to the process's end
  return *names;
}

std::optional<int> current_device() {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? std::optional(device) : std::nullopt;
}

std::string full_name(std::optional<int> device) {
  if (!device) return "a GPU";
  GpuNames& known = gpu_names();
  std::lock_guard lock(known.mutex);
  auto found = known.names.find(*device);
  return found == known.names.end() ? fmt::format("cuda:{}", *device) : found->second;
}

// Later than the oldest CUDA that Spire builds with: a hardware error or one of a link, which the
// GPU has contained; the process has to go.
constexpr auto kErrorContained = static_cast<cudaError_t>(226);

}  // namespace

void remember_gpus(std::span<const CudaDeviceInfo> gpus) {
  GpuNames& known = gpu_names();
  std::lock_guard lock(known.mutex);
  for (const CudaDeviceInfo& gpu : gpus) known.names[gpu.index] = describe(gpu);
}

// By the words of CUDA's manual (CUDA Runtime API, "Data types used by CUDA Runtime", cudaError),
// and what a GPU that has left the bus (Xid 79) answers. Faults that a program makes by itself are
// not among them: illegal addresses, instructions, asserts, kernels that take too long, and
// cudaErrorLaunchFailure, which a lost GPU may give as well.
bool is_lost(cudaError_t code) {
  switch (code) {
    case cudaErrorDevicesUnavailable:   // busy or unavailable: refused to all, or taken by another
    case cudaErrorNoDevice:             // none is there any more
    case cudaErrorECCUncorrectable:     // its memory
    case cudaErrorNvlinkUncorrectable:  // its links
    case cudaErrorSystemNotReady:       // the driver's daemons, of the NVSwitch for instance
    case cudaErrorUnknown:              // what a device says that does not answer
      return true;
    default:
      return code == kErrorContained;
  }
}

bool is_sticky(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
      return true;
    default:
      return code == kErrorContained;
  }
}

void check_cuda(cudaError_t code, const char* call, std::source_location where) {
  if (code == cudaSuccess) return;
  std::optional<int> device = current_device();
  std::string place =
      fmt::format("{}{} ({}:{})", call, device ? fmt::format(" on cuda:{}", *device) : "",
                  file_name(where.file_name()), where.line());
  std::string words = fmt::format("{}, {}", cudaGetErrorName(code), cudaGetErrorString(code));
  cudaGetLastError();  // takes a recoverable error away, so that the next call does not see it
  if (is_lost(code)) {
    fail(Category::collective,
         "{} is lost: {}: {}; nvidia-smi and the kernel log (dmesg, Xid) tell more; start with "
         "--max-restarts N to go on without it",
         full_name(device), place, words);
  }
  auto category = code == cudaErrorMemoryAllocation ? Category::out_of_memory : Category::device;
  fail(category, "{}: {}{}", place, words,
       is_sticky(code) ? "; this process cannot use the device any more, start again" : "");
}

void check_device(const char* call, std::source_location where) {
  size_t free_bytes = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total), call, where);
}

}  // namespace spire::inline device
