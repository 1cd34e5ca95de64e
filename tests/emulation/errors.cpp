// Emulated errors of CUDA: the thread's last one, names and descriptions.
#include <utility>

#include "machine.h"

namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t spire::emulation::remember(cudaError_t code) {
  return last_error = code;
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return last_error;
}

const char* cudaGetErrorName(cudaError_t code) {
#define NAME(name) \
  case name:       \
    return #name;
  switch (code) {
    NAME(cudaSuccess)
    NAME(cudaErrorInvalidValue)
    NAME(cudaErrorMemoryAllocation)
    NAME(cudaErrorInvalidConfiguration)
    NAME(cudaErrorDevicesUnavailable)
    NAME(cudaErrorNoDevice)
    NAME(cudaErrorInvalidDevice)
    NAME(cudaErrorECCUncorrectable)
    NAME(cudaErrorNvlinkUncorrectable)
    NAME(cudaErrorInvalidResourceHandle)
    NAME(cudaErrorIllegalState)
    NAME(cudaErrorNotReady)
    NAME(cudaErrorIllegalAddress)
    NAME(cudaErrorLaunchTimeout)
    NAME(cudaErrorPeerAccessAlreadyEnabled)
    NAME(cudaErrorAssert)
    NAME(cudaErrorHostMemoryAlreadyRegistered)
    NAME(cudaErrorHostMemoryNotRegistered)
    NAME(cudaErrorHardwareStackError)
    NAME(cudaErrorIllegalInstruction)
    NAME(cudaErrorMisalignedAddress)
    NAME(cudaErrorInvalidAddressSpace)
    NAME(cudaErrorInvalidPc)
    NAME(cudaErrorLaunchFailure)
    NAME(cudaErrorNotPermitted)
    NAME(cudaErrorSystemNotReady)
    NAME(cudaErrorStreamCaptureUnsupported)
    NAME(cudaErrorStreamCaptureInvalidated)
    NAME(cudaErrorStreamCaptureMerge)
    NAME(cudaErrorStreamCaptureUnmatched)
    NAME(cudaErrorStreamCaptureUnjoined)
    NAME(cudaErrorStreamCaptureIsolation)
    NAME(cudaErrorStreamCaptureImplicit)
    NAME(cudaErrorCapturedEvent)
    NAME(cudaErrorStreamCaptureWrongThread)
    NAME(cudaErrorUnknown)
  }
#undef NAME
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : "emulated";
}
