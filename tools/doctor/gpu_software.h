// Checks of the software that GPUs need: driver, CUDA, its libraries, and code for the GPUs.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu_requirements.h"
#include "engine/run/machine/finding.h"

namespace spire {

struct GpuSoftware {
  CudaStatus cuda;                       // the GPUs that CUDA shows to this process
  std::optional<CudaVersions> versions;  // none: a build without CUDA
  std::vector<std::string> on_bus;       // PCI addresses of NVIDIA's GPUs, with or without a driver
  std::optional<std::string> libcuda_problem = {};
};

// root: the folder that contains proc and sys; tests have one of their own. Opens NVIDIA's
// libraries where there is a GPU, but starts none.
GpuSoftware read_gpu_software(const std::filesystem::path& root = "/");

// Returns the PCI addresses of NVIDIA's display controllers.
std::vector<std::string> gpus_on_bus(const std::filesystem::path& root);

// Topics: driver, cuda, cudnn, cublas, nccl, nvrtc, architectures.
Findings check_gpu_software(const GpuSoftware& software);

}  // namespace spire
