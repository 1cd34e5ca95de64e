// Requirements of a GPU run: versions of driver and libraries, code for the GPU, working memory.
// Each message ends with what to do about it.
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

// Versions of everything that a GPU run needs.
struct CudaVersions {
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

// Throws Error(device), a line per problem, if driver, libraries or GPU cannot run this build.
void expect_usable_gpu(int index);

// Writes memory of the GPU, copies it and reads it back. Throws Error(device) if there is no such
// GPU, Error(collective) if it fails (is_lost) or returns other bytes. A process that has seen a
// GPU fail learns nothing from this: probe in another process.
void probe_gpu(int index);

// The rest are pure functions of versions.

// Finds "580.65.06" in the text of /proc/driver/nvidia/version; empty if it is not there.
std::string parse_driver_version(std::string_view text);

// Return messages: a driver too old for this build; all that must be fixed, the driver first; and
// warnings, with which a run continues.
std::optional<std::string> driver_problem(const CudaVersions& versions);
std::vector<std::string> version_problems(const CudaVersions& versions);
std::vector<std::string> version_doubts(const CudaVersions& versions);

// Best code that the compiled kernels have for a GPU: its own machine code, or PTX that the driver
// compiles. (CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility".)
enum class GpuCode { none, ptx, binary };
GpuCode code_for(std::string_view architectures, const Version& capability);
std::string describe_architectures(std::string_view architectures);  // "7.5, 9.0 and later"

// Return a message if the kernels do not run on this GPU, or libraries lack the dtype there.
std::optional<std::string> code_problem(const CudaVersions& versions, const CudaDeviceInfo& gpu);
std::optional<std::string> dtype_problem(DType dtype, const CudaDeviceInfo& gpu);

}  // namespace spire::inline device
