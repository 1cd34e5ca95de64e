#include "engine/device/cuda_error.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/fail.h"
#include "engine/device/device.h"

namespace spire {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Each process sees the same GPUs as long as it lives.
struct KnownGpus {
  std::mutex mutex;
  std::map<int, CudaDeviceInfo> gpus;  // by ordinal
  std::map<int, int> ordinals;         // by index
};
KnownGpus& known_gpus() {
  static auto* known = new KnownGpus;  // never freed: threads may fail while the process ends
  return *known;
}

std::optional<int> current_device() {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? std::optional(device) : std::nullopt;
}

std::string full_name(std::optional<int> device) {
  if (!device) return "a GPU";
  KnownGpus& known = known_gpus();
  std::lock_guard lock(known.mutex);
  auto found = known.gpus.find(*device);
  return found == known.gpus.end() ? fmt::format("the GPU that CUDA numbers {}", *device)
                                   : describe(found->second);
}

// Returns " on cuda:1", by the number that the user knows.
std::string on_device(std::optional<int> device) {
  if (!device) return "";
  KnownGpus& known = known_gpus();
  std::lock_guard lock(known.mutex);
  auto found = known.gpus.find(*device);
  return fmt::format(" on cuda:{}", found == known.gpus.end() ? *device : found->second.index);
}

std::optional<int> known_ordinal(int index) {
  KnownGpus& known = known_gpus();
  std::lock_guard lock(known.mutex);
  auto found = known.ordinals.find(index);
  return found == known.ordinals.end() ? std::nullopt : std::optional(found->second);
}

// cudaErrorContained, by number, as older CUDA headers do not have it: an error of hardware or a
// link that the GPU has contained. The process has to end.
constexpr auto error_contained = static_cast<cudaError_t>(226);

}  // namespace

void remember_gpus(std::span<const CudaDeviceInfo> gpus) {
  KnownGpus& known = known_gpus();
  std::lock_guard lock(known.mutex);
  for (const CudaDeviceInfo& gpu : gpus) {
    known.gpus[gpu.ordinal] = gpu;
    known.ordinals[gpu.index] = gpu.ordinal;
  }
}

int cuda_ordinal(int index) {
  if (auto ordinal = known_ordinal(index)) return *ordinal;
  discover_cuda();
  if (auto ordinal = known_ordinal(index)) return *ordinal;
  fail(Category::device, "cuda:{}: there is no such device; trainer devices lists them", index);
}

// The codes of failed hardware (CUDA Runtime API, "Data types used by CUDA Runtime", cudaError),
// and the answer of a GPU that has left the bus (Xid 79). Faults of a program are not among them:
// illegal addresses and instructions, asserts, timeouts. Nor is cudaErrorLaunchFailure, which a
// lost GPU may return, but a faulty kernel as well.
bool is_lost(cudaError_t code) {
  switch (code) {
    case cudaErrorDevicesUnavailable:   // refused to all, or taken by another process
    case cudaErrorNoDevice:             // none is left
    case cudaErrorECCUncorrectable:     // memory
    case cudaErrorNvlinkUncorrectable:  // links
    case cudaErrorSystemNotReady:       // a daemon of the driver, as the NVSwitch's fabric manager
    case cudaErrorUnknown:              // the device does not answer
      return true;
    default:
      return code == error_contained;
  }
}

// The codes after which CUDA requires a new process (same section: "this leaves the process in an
// inconsistent state").
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
      return code == error_contained;
  }
}

void check_cuda(cudaError_t code, const char* call, std::source_location where) {
  if (code == cudaSuccess) return;
  std::optional<int> device = current_device();
  std::string place = fmt::format("{}{} ({}:{})", call, on_device(device),
                                  file_name(where.file_name()), where.line());
  std::string words = fmt::format("{}, {}", cudaGetErrorName(code), cudaGetErrorString(code));
  cudaGetLastError();  // clears a recoverable error, which the next check would else report
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

// cudaMemGetInfo needs a working context and does not synchronize.
void check_device(const char* call, std::source_location where) {
  size_t free_bytes = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total), call, where);
}

}  // namespace spire
