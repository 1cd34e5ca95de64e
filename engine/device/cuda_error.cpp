#include <spire/base/error.h>
#include <spire/device/cuda_error.h>

#include <string_view>

namespace spire {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// "cuda:0", or nothing where the runtime cannot tell.
std::string current_device() {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? fmt::format(" on cuda:{}", device) : "";
}

}  // namespace

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
      return true;
    default:
      return false;
  }
}

void check_cuda(cudaError_t code, const char* call, std::source_location where) {
  if (code == cudaSuccess) return;
  std::string place = fmt::format("{}{} ({}:{})", call, current_device(),
                                  file_name(where.file_name()), where.line());
  cudaGetLastError();  // takes a recoverable error away, so that the next call does not see it
  auto category = code == cudaErrorMemoryAllocation ? Category::out_of_memory : Category::device;
  fail(category, "{}: {}, {}{}", place, cudaGetErrorName(code), cudaGetErrorString(code),
       is_sticky(code) ? "; the device cannot be used any more by this process" : "");
}

}  // namespace spire
