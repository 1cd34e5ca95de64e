#include <algorithm>

#include <fmt/ranges.h>

#include "engine/base/proc_files.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// The messages of gpu_requirements.h begin with the name of the library that they are about.
struct LibraryTopic {
  const char *topic, *begins;
};
constexpr LibraryTopic library_topics[] = {
    {"cudnn", "cuDNN"}, {"cublas", "cuBLAS"}, {"nccl", "NCCL"}, {"nvrtc", "libnvrtc"}};

std::string seen_version(const char* name, const LibraryVersion& library) {
  std::string found = library.found             ? to_string(library.found)
                      : library.why_not.empty() ? "not opened, as there is no GPU"
                                                : "not found";
  return fmt::format("{} {}, compiled with {}", name, found, to_string(library.built));
}

std::string seen_nvrtc(const CudaVersions& versions, bool gpus) {
  if (versions.nvrtc) return fmt::format("NVRTC {}", major_minor(versions.nvrtc));
  return gpus ? "NVRTC not found" : "NVRTC not opened, as there is no GPU";
}

Finding check_library(const LibraryTopic& library, std::string seen, const CudaVersions& versions,
                      bool gpus) {
  auto about = [&](const std::string& text) { return text.starts_with(library.begins); };
  for (const std::string& problem : version_problems(versions)) {
    if (about(problem)) return {library.topic, FindingLevel::fail, seen, problem};
  }
  for (const std::string& doubt : version_doubts(versions)) {
    bool counts = gpus || versions.nvrtc || library.topic != std::string("nvrtc");
    if (about(doubt) && counts) return {library.topic, FindingLevel::warn, seen, doubt};
  }
  return {library.topic, FindingLevel::ok, std::move(seen)};
}

Finding check_driver(const GpuSoftware& software) {
  const CudaVersions& versions = *software.versions;
  if (!versions.driver_cuda) {
    if (software.libcuda_problem)
      return {"driver", FindingLevel::fail, "a driver of which CUDA finds no libcuda.so.1",
              *software.libcuda_problem};
    if (software.on_bus.empty())
      return {"driver", FindingLevel::ok, "no NVIDIA GPU and no driver: runs take CPUs"};
    return {"driver", FindingLevel::warn,
            fmt::format("no NVIDIA driver, but a GPU at PCI {}", fmt::join(software.on_bus, ", ")),
            "install NVIDIA's driver and load it (modprobe nvidia); in a container start it with "
            "the GPUs (docker run --gpus all)"};
  }
  std::string seen = fmt::format("driver {}, supports CUDA {}",
                                 versions.driver.empty() ? "unknown" : versions.driver,
                                 major_minor(versions.driver_cuda));
  if (auto problem = driver_problem(versions))
    return {"driver", FindingLevel::fail, seen, *problem};
  return {"driver", FindingLevel::ok, std::move(seen)};
}

Finding check_cuda(const GpuSoftware& software) {
  const CudaStatus& cuda = software.cuda;
  if (!cuda.devices.empty()) {
    std::vector<std::string> names;
    for (const CudaDeviceInfo& gpu : cuda.devices) names.push_back(describe(gpu));
    return {"cuda", FindingLevel::ok,
            fmt::format("compiled with CUDA {}; {}", major_minor(software.versions->toolkit),
                        fmt::join(names, ", "))};
  }
  if (software.versions->driver_cuda || software.libcuda_problem || !software.on_bus.empty())
    return {"cuda", FindingLevel::warn, "CUDA shows no GPU: " + cuda.why_none,
            "runs take CPUs; trainer devices lists what there is"};
  return {"cuda", FindingLevel::ok,
          fmt::format("compiled with CUDA {}; no GPU: {}", major_minor(software.versions->toolkit),
                      cuda.why_none)};
}

// A finding a GPU that lacks machine code, or one for all.
Findings check_architectures(const GpuSoftware& software) {
  const CudaVersions& versions = *software.versions;
  std::string built = "kernels for " + describe_architectures(versions.architectures);
  Findings findings;
  for (const CudaDeviceInfo& gpu : software.cuda.devices) {
    Version capability{gpu.compute_major, gpu.compute_minor, 0};
    if (auto problem = code_problem(versions, gpu)) {
      findings.push_back({"architectures", FindingLevel::fail, built, *problem});
    } else if (code_for(versions.architectures, capability) == GpuCode::ptx) {
      findings.push_back(
          {"architectures", FindingLevel::warn,
           fmt::format("{}, but none for cuda:{} ({}, {}), whose driver compiles PTX in its place",
                       built, gpu.index, gpu.name, major_minor(capability)),
           fmt::format("the first start takes minutes; configure with "
                       "-DSPIRE_CUDA_ARCHITECTURES={}{} to avoid that",
                       gpu.compute_major, gpu.compute_minor)});
    }
  }
  if (findings.empty()) findings.push_back({"architectures", FindingLevel::ok, std::move(built)});
  return findings;
}

Findings without_cuda(const GpuSoftware& software) {
  Findings findings;
  std::string why = "this build has no CUDA support";
  for (const char* topic : {"driver", "cuda", "cudnn", "cublas", "nccl", "nvrtc", "architectures"})
    findings.push_back({topic, FindingLevel::ok, why});
  if (software.on_bus.empty()) return findings;
  findings[1] = {
      "cuda", FindingLevel::warn,
      fmt::format("{}, but there is a GPU at PCI {}", why, fmt::join(software.on_bus, ", ")),
      "configure with -DSPIRE_CUDA=ON to use it"};
  return findings;
}

}  // namespace

std::vector<std::string> gpus_on_bus(const fs::path& root) {
  std::vector<std::string> addresses;
  std::error_code error;
  for (const auto& device : fs::directory_iterator(root / "sys/bus/pci/devices", error)) {
    bool nvidia = first_line(device.path() / "vendor") == "0x10de";
    bool display = first_line(device.path() / "class").starts_with("0x03");
    if (nvidia && display) addresses.push_back(device.path().filename());
  }
  std::ranges::sort(addresses);
  return addresses;
}

GpuSoftware read_gpu_software(const fs::path& root) {
  GpuSoftware software{discover_cuda(), cuda_versions(), gpus_on_bus(root)};
  if (software.versions && !software.versions->driver_cuda)
    software.libcuda_problem = libcuda_problem(GpuMonitor());
  return software;
}

Findings check_gpu_software(const GpuSoftware& software) {
  if (!software.versions) return without_cuda(software);
  const CudaVersions& versions = *software.versions;
  bool gpus = !software.cuda.devices.empty();
  Findings findings = {check_driver(software), check_cuda(software)};
  const std::string seen[] = {seen_version("cuDNN", versions.cudnn),
                              seen_version("cuBLAS", versions.cublas),
                              seen_version("NCCL", versions.nccl), seen_nvrtc(versions, gpus)};
  for (size_t i = 0; i < std::size(library_topics); ++i)
    findings.push_back(check_library(library_topics[i], seen[i], versions, gpus));
  append(findings, check_architectures(software));
  return findings;
}

}  // namespace spire
