// Checks what a GPU run needs: versions, code for the GPU, sound memory. Messages name a remedy.
#pragma once
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/tensor.h>

#include "engine/device/device.h"
#include "engine/device/nvml/gpu_monitor.h"

namespace spire {

struct Version {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
  explicit operator bool() const { return *this != Version{}; }  // false if unknown or not found
};
std::string to_string(const Version& version);    // returns "9.19.0"
std::string major_minor(const Version& version);  // returns "13.0"

struct LibraryVersion {
  Version built;             // of the headers that this build was compiled with
  Version found;             // of the library that this process opened
  std::string why_not = {};  // why it is not open; empty: it is open, or there is no GPU
};

struct CudaVersions {   // a version that is unknown or was not found is Version{}
  Version toolkit;      // CUDA with which this build was compiled
  Version driver_cuda;  // newest CUDA that the driver supports; Version{} without a driver
  std::string driver;   // the driver's own version, "580.65.06"; empty if unknown
  LibraryVersion cudnn, cublas, nccl;
  Version cudnn_cuda;  // CUDA for which the found cuDNN was built
  Version nvrtc;
  std::string architectures;  // of the compiled kernels: "75-real 80-real 90"
};

// Finds the versions; nullopt in a build without CUDA. Never throws. Opens the libraries only if
// there is a GPU.
std::optional<CudaVersions> cuda_versions();

// Throws Error(device), with one line per problem, if this build cannot run on the GPU.
void expect_usable_gpu(int index);

// Writes, copies and reads memory of the GPU. Throws Error(device) if there is no such GPU,
// Error(collective) if it fails (is_lost). Call it in a new process: after a GPU has failed, all
// CUDA calls of a process may fail (is_sticky).
void probe_gpu(int index);

// Returns the driver's version, "580.65.06", from the text of /proc/driver/nvidia/version; "" if it
// has none.
std::string parse_driver_version(std::string_view text);

// Return messages. driver_problem(): the driver is too old. libcuda_problem(): NVML lists GPUs;
// call it only if CUDA finds no driver. version_problems(): all that must be fixed, the driver
// first. version_doubts(): what may cause trouble.
std::optional<std::string> driver_problem(const CudaVersions& versions);
std::optional<std::string> libcuda_problem(const GpuMonitor& monitor);
std::vector<std::string> version_problems(const CudaVersions& versions);
std::vector<std::string> version_doubts(const CudaVersions& versions);

// The best code that this build has for a GPU: machine code (binary), or PTX, which the driver
// compiles (CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility").
enum class GpuCode { none, ptx, binary };
GpuCode code_for(std::string_view architectures, const Version& capability);
std::string describe_architectures(std::string_view architectures);  // "7.5, 9.0 and later"

// Return a message if the build has no code for this GPU, or the GPU does not compute on `dtype`.
std::optional<std::string> code_problem(const CudaVersions& versions, const CudaDeviceInfo& gpu);
std::optional<std::string> dtype_problem(DType dtype, const CudaDeviceInfo& gpu);

}  // namespace spire
