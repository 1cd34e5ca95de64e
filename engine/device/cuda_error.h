// Errors of the CUDA runtime as Spire's own.
#pragma once
#include <cuda_runtime.h>

#include <source_location>

namespace spire {

// Throws where `code` is not cudaSuccess: Error(out_of_memory) when the device has no memory left,
// else Error(device). The message names call, file and line, device and what CUDA says; after an
// error that ruins the context ("sticky": an illegal address, say) it tells so, as nothing on that
// device works again in this process.
void check_cuda(cudaError_t code, const char* call,
                std::source_location where = std::source_location::current());

// Whether every later call in this process fails with it too.
bool is_sticky(cudaError_t code);

}  // namespace spire
