// Device discovery of a build without CUDA.
#include <spire/device/device.h>

namespace spire {

CudaStatus discover_cuda() {
  CudaStatus status;
  status.why_none = "this build has no CUDA; configure with -DSPIRE_CUDA=ON";
  return status;
}

}  // namespace spire
