// The host's side of the emulated CUDA: the calls that Spire makes, with CUDA's names, values and
// rules. Beyond what CUDA's manual says:
//
// Streams are queues, and what is put on one runs only when some thread waits: at a
// synchronisation, a copy that blocks, cudaFree; a query does some pieces. Then pieces of all
// streams of all devices run, in an order drawn at random among those that streams and events leave
// open, until what is waited for is done. So a missing wait shows as a wrong value, most of the
// time.
//
// An Error of a kernel is thrown from the next call that waits for its device, once; in a thread
// that unwinds already, that call returns cudaErrorLaunchFailure in its place.
//
// Any thread may call. A host function runs in a thread that waits, no matter for what: it must not
// take a lock that such a thread holds.
#pragma once
#include <cstddef>

// CUDA's errors: X(name, number).
#define EMULATED_CUDA_ERRORS(X)                \
  X(cudaSuccess, 0)                            \
  X(cudaErrorInvalidValue, 1)                  \
  X(cudaErrorMemoryAllocation, 2)              \
  X(cudaErrorInvalidConfiguration, 9)          \
  X(cudaErrorDevicesUnavailable, 46)           \
  X(cudaErrorNoDevice, 100)                    \
  X(cudaErrorInvalidDevice, 101)               \
  X(cudaErrorECCUncorrectable, 214)            \
  X(cudaErrorNvlinkUncorrectable, 220)         \
  X(cudaErrorInvalidResourceHandle, 400)       \
  X(cudaErrorIllegalState, 401)                \
  X(cudaErrorNotReady, 600)                    \
  X(cudaErrorIllegalAddress, 700)              \
  X(cudaErrorLaunchTimeout, 702)               \
  X(cudaErrorPeerAccessAlreadyEnabled, 704)    \
  X(cudaErrorAssert, 710)                      \
  X(cudaErrorHostMemoryAlreadyRegistered, 712) \
  X(cudaErrorHostMemoryNotRegistered, 713)     \
  X(cudaErrorHardwareStackError, 714)          \
  X(cudaErrorIllegalInstruction, 715)          \
  X(cudaErrorMisalignedAddress, 716)           \
  X(cudaErrorInvalidAddressSpace, 717)         \
  X(cudaErrorInvalidPc, 718)                   \
  X(cudaErrorLaunchFailure, 719)               \
  X(cudaErrorNotPermitted, 800)                \
  X(cudaErrorSystemNotReady, 802)              \
  X(cudaErrorStreamCaptureUnsupported, 900)    \
  X(cudaErrorStreamCaptureInvalidated, 901)    \
  X(cudaErrorStreamCaptureMerge, 902)          \
  X(cudaErrorStreamCaptureUnmatched, 903)      \
  X(cudaErrorStreamCaptureUnjoined, 904)       \
  X(cudaErrorStreamCaptureIsolation, 905)      \
  X(cudaErrorStreamCaptureImplicit, 906)       \
  X(cudaErrorCapturedEvent, 907)               \
  X(cudaErrorStreamCaptureWrongThread, 908)    \
  X(cudaErrorUnknown, 999)

enum cudaError_t {
#define ENUMERATOR(name, number) name = number,
  EMULATED_CUDA_ERRORS(ENUMERATOR)
#undef ENUMERATOR
};

using cudaStream_t = struct EmulatedStream*;  // nullptr: the null stream of the current device
using cudaEvent_t = struct EmulatedEvent*;
using cudaHostFn_t = void (*)(void*);

const char* cudaGetErrorName(cudaError_t code);
const char* cudaGetErrorString(cudaError_t code);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);

constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
// Priorities change nothing here.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);  // waits here; on a device it may not
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);

constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;
constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1;
cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);  // waits for the memory's device
cudaError_t cudaMallocHost(void** memory, size_t bytes);
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);  // waits for all devices
cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* memory);  // as cudaFreeHost
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};
// As on a device, what is not pinned is staged: an asynchronous copy from it has read it when it
// returns, one to it waits for the stream. cudaMemcpy is on the null stream and waits, except that
// from device to device it does not, and that from memory that is not pinned it returns when it has
// read, not when the device's memory is written: other streams have to wait for that.
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* memory, int byte, size_t bytes);  // on the null stream, waits for none
cudaError_t cudaMemsetAsync(void* memory, int byte, size_t bytes, cudaStream_t stream = nullptr);

// Capture. What is put on a captured stream is kept, and on streams that join it through events. As
// on a device, the thread that captures must not wait, query, allocate or free meanwhile, and a
// capture that was disturbed is lost. Stricter than on a device: what is copied is device memory or
// pinned. A graph's pieces run one by one, as those of streams do.
using cudaGraph_t = struct EmulatedGraph*;
using cudaGraphExec_t = struct EmulatedGraphExec*;
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed,
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
  cudaStreamCaptureStatusInvalidated,
};
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
