// NVIDIA's libraries in the versions that this build was compiled with.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <fmt/format.h>
#include <nccl.h>

#include "engine/device/nvidia_library.h"

namespace spire {
namespace {

constexpr int cuda_major = CUDART_VERSION / 1000;

// wheel: without what it says of CUDA: up to 12 all names end in "-cu12", some still do.
NvidiaLibrary::Name named(const char* name, const char* file, int version, std::string wheel) {
  if (cuda_major < 13) wheel += fmt::format("-cu{}", cuda_major);
  return {name, fmt::format("{}.so.{}", file, version), wheel, cuda_major};
}

}  // namespace

// Takes about 200 MB of memory.
const NvidiaLibrary& cublaslt_library() {
  static const NvidiaLibrary library(
      named("cuBLAS", "libcublasLt", CUBLAS_VER_MAJOR, "nvidia-cublas"));
  return library;
}

const NvidiaLibrary& nvrtc_library() {
  static const NvidiaLibrary library(named("NVRTC", "libnvrtc", cuda_major, "nvidia-cuda-nvrtc"));
  return library;
}

// cuDNN opens NVRTC and cuBLASLt by name, and so finds those that are open, wherever they lie.
const NvidiaLibrary& cudnn_library() {
  cublaslt_library();
  nvrtc_library();
  static const NvidiaLibrary library({"cuDNN", fmt::format("libcudnn.so.{}", CUDNN_MAJOR),
                                      fmt::format("nvidia-cudnn-cu{}", cuda_major), cuda_major});
  return library;
}

const NvidiaLibrary& nccl_library() {
  static const NvidiaLibrary library({"NCCL", fmt::format("libnccl.so.{}", NCCL_MAJOR),
                                      fmt::format("nvidia-nccl-cu{}", cuda_major), cuda_major});
  return library;
}

}  // namespace spire
