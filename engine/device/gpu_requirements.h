// Requirements of a GPU run: versions, code for the GPU, working memory. Messages name a remedy.
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
  explicit operator bool() const { return *this != Version{}; }  // false: unknown or not found
};
std::string to_string(const Version& version);    // "9.19.0"
std::string major_minor(const Version& version);  // "13.0"

struct LibraryVersion {
  Version built;  // of the headers that this build was compiled with
  Version found;  // of the library that this process loaded
};

struct CudaVersions {   // empty or none: unknown or not found
  Version toolkit;      // CUDA that this build was compiled with
  Version driver_cuda;  // newest CUDA that the driver supports; none without a driver
  std::string driver;   // the driver's own version, "580.65.06"; empty if unknown
  LibraryVersion cudnn, cublas, nccl;
  Version cudnn_cuda;  // CUDA that this cuDNN was built for
  Version nvrtc;
  std::string architectures;  // of the compiled kernels: "75-real 80-real 90"
};

// Finds the versions; none in a build without CUDA. Never throws. Opens cuBLAS (200 MB) and NVRTC
// only if there is a GPU; without one cuBLAS counts as found.
std::optional<CudaVersions> cuda_versions();

// Throws Error(device), a line per problem, if this build cannot run on the GPU.
void expect_usable_gpu(int index);

// Writes, copies and reads memory of the GPU. Throws Error(device) if it is not there,
// Error(collective) if it fails (is_lost). Learns nothing in a process that has seen a GPU fail.
void probe_gpu(int index);

std::string parse_driver_version(std::string_view text);  // "580.65.06"; else empty

// Return messages: a driver too old; all that must be fixed, the driver first; and warnings.
std::optional<std::string> driver_problem(const CudaVersions& versions);
std::vector<std::string> version_problems(const CudaVersions& versions);
std::vector<std::string> version_doubts(const CudaVersions& versions);

// Best code for a GPU: its own, or PTX that the driver compiles (CUDA C++ Programming Guide,
// "Binary Compatibility", "PTX Compatibility").
enum class GpuCode { none, ptx, binary };
GpuCode code_for(std::string_view architectures, const Version& capability);
std::string describe_architectures(std::string_view architectures);  // "7.5, 9.0 and later"

// Return a message if kernels or libraries do not serve this GPU.
std::optional<std::string> code_problem(const CudaVersions& versions, const CudaDeviceInfo& gpu);
std::optional<std::string> dtype_problem(DType dtype, const CudaDeviceInfo& gpu);

}  // namespace spire::inline device
