#include "tools/gpu_versions.h"

#include <spire/error.h>

namespace spire::tool {

namespace {

std::string text_of(const char* name, const LibraryVersion& library) {
  std::string built = fmt::format("this build: {}", to_string(library.built));
  if (!library.found) return fmt::format("{} not found ({})", name, built);
  std::string found = fmt::format("{} {}", name, to_string(library.found));
  return library.found == library.built ? found : fmt::format("{} ({})", found, built);
}

std::string driver_text(const CudaVersions& versions) {
  if (!versions.driver_cuda) return "no driver";
  return fmt::format("driver {} (CUDA {})", versions.driver.empty() ? "unknown" : versions.driver,
                     major_minor(versions.driver_cuda));
}

}  // namespace

std::vector<std::string> version_texts(const CudaVersions& versions) {
  return {fmt::format("toolkit {}", major_minor(versions.toolkit)),
          driver_text(versions),
          text_of("cuBLAS", versions.cublas),
          text_of("cuDNN", versions.cudnn),
          text_of("NCCL", versions.nccl),
          versions.nvrtc ? fmt::format("NVRTC {}", major_minor(versions.nvrtc)) : "no NVRTC loaded",
          fmt::format("kernels for {}", describe_architectures(versions.architectures))};
}

std::vector<std::string> finding_lines(const CudaVersions& versions,
                                       const std::vector<CudaDeviceInfo>& gpus) {
  std::vector<std::string> lines;
  for (const std::string& text : version_problems(versions)) lines.push_back("problem  " + text);
  for (const CudaDeviceInfo& gpu : gpus) {
    if (auto text = code_problem(versions, gpu)) lines.push_back("problem  " + *text);
  }
  for (const std::string& text : version_doubts(versions)) lines.push_back("note     " + text);
  for (const CudaDeviceInfo& gpu : gpus) {
    if (auto text = dtype_problem(DType::bf16, gpu)) lines.push_back("note     " + *text);
  }
  return lines;
}

}  // namespace spire::tool
