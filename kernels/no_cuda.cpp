// The CUDA kernel table of a build without CUDA.
#include <spire/kernels/kernel.h>

namespace spire {

std::span<const KernelEntry> cuda_kernels() {
  return {};
}

}  // namespace spire
