// Whether this build can run on a GPU, with its driver and NVIDIA's libraries as they are: pure
// functions of version numbers. Each message ends with what to do about it.
#pragma once
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/device/device.h"

namespace spire::inline device {

struct Version {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
  explicit operator bool() const { return *this != Version{}; }  // false: not known, or not there
};
std::string to_string(const Version& version);    // "9.19.0"
std::string major_minor(const Version& version);  // "13.0"

struct LibraryVersion {
  Version built;  // of the headers that this build was compiled with
  Version found;  // of what this process loaded
};

// What a run on GPUs stands on.
struct CudaVersions {
  Version toolkit;      // CUDA's, of this build
  Version driver_cuda;  // the newest CUDA that the driver knows; none without a driver
  std::string driver;   // the driver's own version, "580.65.06"; empty where it does not say
  LibraryVersion cudnn, cublas, nccl;
  Version cudnn_cuda;  // the CUDA that this cuDNN was made for
  Version nvrtc;
  std::string architectures;  // that the kernels were compiled for: "75-real 80-real 90"
};

// "580.65.06" of the text in /proc/driver/nvidia/version; empty where it is none.
std::string parse_driver_version(std::string_view text);

// The driver is too old for this build; nothing where it is not, or where there is none.
std::optional<std::string> driver_problem(const CudaVersions& versions);
// What has to be mended before a GPU is used: the driver first, then libraries.
std::vector<std::string> version_problems(const CudaVersions& versions);
// What a run goes on with, more slowly or untried.
std::vector<std::string> version_doubts(const CudaVersions& versions);

// What of the compiled kernels runs on a GPU of this compute capability: its own code, or PTX that
// the driver compiles. (CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility".)
enum class GpuCode { none, ptx, binary };
GpuCode code_for(std::string_view architectures, const Version& capability);
// "7.5, 8.0, 9.0 and later"
std::string describe_architectures(std::string_view architectures);

// The kernels do not run on this GPU; nothing where they do.
std::optional<std::string> code_problem(const CudaVersions& versions, const CudaDeviceInfo& gpu);
// cuDNN and cuBLASLt do not compute in this type on the GPU; nothing where they do.
std::optional<std::string> dtype_problem(DType dtype, const CudaDeviceInfo& gpu);

}  // namespace spire::inline device
