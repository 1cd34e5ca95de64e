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
#define NAME(name, number) \
  case name:               \
    return #name;
  switch (code) { EMULATED_CUDA_ERRORS(NAME) }
#undef NAME
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : "emulated";
}
