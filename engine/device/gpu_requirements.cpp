#include "engine/device/gpu_requirements.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <regex>
#include <sstream>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/device/device_memory.h"
#include "engine/device/stream.h"

namespace spire {
namespace {

constexpr Version oldest_nccl{2, 19, 0};  // ncclCommRegister
constexpr Version bf16_capability{8, 0, 0};

// Returns the first driver branch that supports a major version of CUDA. It runs every minor
// version. (CUDA Toolkit Release Notes, "CUDA Driver"; CUDA Compatibility, "Minor Version
// Compatibility".)
std::string oldest_driver(int cuda_major) {
  switch (cuda_major) {
    case 11:
      return "450";
    case 12:
      return "525";
    case 13:
      return "580";
    default:
      return "";
  }
}

Version capability_of(const CudaDeviceInfo& gpu) {
  return {gpu.compute_major, gpu.compute_minor, 0};
}

std::string name_of(const CudaDeviceInfo& gpu) {
  return fmt::format("cuda:{} ({}) has compute capability {}", gpu.index, gpu.name,
                     major_minor(capability_of(gpu)));
}

// One word of CMAKE_CUDA_ARCHITECTURES: "90-real" (machine code), "90-virtual" (PTX), "90" (both),
// "90a-real", "100f".
struct Architecture {
  Version capability;
  bool binary = true, ptx = true;
  char scope = ' ';  // 'a': this GPU only; 'f': its family; ' ': later GPUs, too

  // Machine code runs on GPUs of the same major and at least the same minor version.
  bool has_binary_for(const Version& gpu) const {
    if (!binary || (scope == 'a' && gpu != capability)) return false;
    return gpu.major == capability.major && gpu >= capability;
  }
  bool has_ptx_for(const Version& gpu) const {
    if (scope != ' ') return ptx && in_scope(gpu);
    return ptx && gpu >= capability;
  }

 private:
  bool in_scope(const Version& gpu) const {
    return scope == 'a' ? gpu == capability : gpu.major == capability.major && gpu >= capability;
  }
};

std::vector<Architecture> parse_architectures(std::string_view text) {
  static const std::regex form(R"((\d+)(\d)([af]?)(-real|-virtual)?)");
  std::vector<Architecture> architectures;
  std::istringstream words{std::string(text)};
  std::smatch part;
  for (std::string word; words >> word;) {
    if (!std::regex_match(word, part, form)) continue;
    architectures.push_back({.capability = {std::stoi(part[1]), std::stoi(part[2]), 0},
                             .binary = part[4] != "-virtual",
                             .ptx = part[4] != "-real",
                             .scope = part[3].length() ? part[3].str()[0] : ' '});
  }
  return architectures;
}

// Says how to build for the GPU.
std::string option_for(const CudaDeviceInfo& gpu) {
  return fmt::format("configure with -DSPIRE_CUDA_ARCHITECTURES={}{}", gpu.compute_major,
                     gpu.compute_minor);
}

void add_missing(std::vector<std::string>& problems, const char* name,
                 const LibraryVersion& library, const char* wheel) {
  if (library.found || library.why_not.empty()) return;
  problems.push_back(fmt::format(
      "{} was not found: {}; install {} {} or newer ({}), or add its folder to LD_LIBRARY_PATH",
      name, library.why_not, name, to_string(library.built), wheel));
}

void add_older(std::vector<std::string>& doubts, const char* name, const LibraryVersion& library) {
  if (!library.found || library.found >= library.built) return;
  doubts.push_back(
      fmt::format("{} {} is older than {}, which this build was compiled with: if a call fails, "
                  "install that version or a newer one",
                  name, to_string(library.found), to_string(library.built)));
}

}  // namespace

std::string to_string(const Version& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::string major_minor(const Version& version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::string parse_driver_version(std::string_view text) {
  static const std::regex form(R"(Kernel Module[^\n]*? (\d+\.\d+(\.\d+)?)\s)");
  std::match_results<std::string_view::const_iterator> found;
  bool matches = std::regex_search(text.begin(), text.end(), found, form);
  return matches ? found[1].str() : "";
}

// Minor versions do not matter: a driver runs any CUDA of its major version.
std::optional<std::string> driver_problem(const CudaVersions& versions) {
  bool is_old = versions.driver_cuda && versions.driver_cuda.major < versions.toolkit.major;
  if (!is_old) return {};
  std::string oldest = oldest_driver(versions.toolkit.major);
  return fmt::format("driver{}{} supports CUDA {}, but this build needs CUDA {}: install driver {}",
                     versions.driver.empty() ? "" : " ", versions.driver,
                     major_minor(versions.driver_cuda), major_minor(versions.toolkit),
                     oldest.empty() ? "for that CUDA version" : oldest + " or newer");
}

std::optional<std::string> libcuda_problem(const GpuMonitor& monitor) {
  if (monitor.gpus().empty()) return {};
  return fmt::format(
      "NVIDIA's driver {} lists {} by NVML, but CUDA finds no libcuda.so.1 of it: install the "
      "driver's CUDA library (Debian: libcuda1), or start the container with "
      "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
      monitor.driver_version(), counted(static_cast<int64_t>(monitor.gpus().size()), "GPU"));
}

std::vector<std::string> version_problems(const CudaVersions& versions) {
  std::vector<std::string> problems;
  // The driver, then missing libraries.
  if (auto driver = driver_problem(versions)) problems.push_back(*driver);
  int cuda = versions.toolkit.major;
  std::string cudnn_wheel = fmt::format("pip: nvidia-cudnn-cu{}", cuda);
  std::string nccl_wheel = fmt::format("pip: nvidia-nccl-cu{}", cuda);
  std::string cublas_wheel = cuda >= 13 ? "pip: nvidia-cublas" : "pip: nvidia-cublas-cu12";
  add_missing(problems, "cuDNN", versions.cudnn, cudnn_wheel.c_str());
  add_missing(problems, "cuBLAS", versions.cublas, cublas_wheel.c_str());
  add_missing(problems, "NCCL", versions.nccl, nccl_wheel.c_str());
  // Libraries that are there, but do not fit.
  const LibraryVersion& cudnn = versions.cudnn;
  if (cudnn.found && cudnn.found.major != cudnn.built.major) {
    problems.push_back(fmt::format(
        "cuDNN {} was found, but this build needs {}: install {} or newer ({})",
        to_string(cudnn.found), cudnn.built.major, to_string(cudnn.built), cudnn_wheel));
  } else if (cudnn.found && versions.cudnn_cuda && versions.cudnn_cuda.major != cuda) {
    problems.push_back(
        fmt::format("cuDNN {} is built for CUDA {}, but this build uses CUDA {}: install cuDNN for "
                    "CUDA {} ({})",
                    to_string(cudnn.found), versions.cudnn_cuda.major, cuda, cuda, cudnn_wheel));
  }
  if (versions.nccl.found && versions.nccl.found < oldest_nccl) {
    problems.push_back(fmt::format("NCCL {} is too old: install {} or newer ({})",
                                   to_string(versions.nccl.found), major_minor(oldest_nccl),
                                   nccl_wheel));
  }
  return problems;
}

std::vector<std::string> version_doubts(const CudaVersions& versions) {
  std::vector<std::string> doubts;
  add_older(doubts, "cuDNN", versions.cudnn);
  add_older(doubts, "cuBLAS", versions.cublas);
  add_older(doubts, "NCCL", versions.nccl);
  if (!versions.nvrtc) {
    doubts.push_back(fmt::format(
        "libnvrtc.so.{} was not found: cuDNN needs it to compile its fastest engines, and slower "
        "ones are used instead; install NVRTC for CUDA {} (pip: nvidia-cuda-nvrtc{})",
        versions.toolkit.major, versions.toolkit.major,
        versions.toolkit.major >= 13 ? "" : "-cu12"));
  }
  return doubts;
}

GpuCode code_for(std::string_view architectures, const Version& capability) {
  GpuCode best = GpuCode::none;
  for (const Architecture& architecture : parse_architectures(architectures)) {
    if (architecture.has_binary_for(capability)) return GpuCode::binary;
    if (architecture.has_ptx_for(capability)) best = GpuCode::ptx;
  }
  return best;
}

std::string describe_architectures(std::string_view architectures) {
  std::vector<std::string> names;
  bool later = false;
  for (const Architecture& architecture : parse_architectures(architectures)) {
    names.push_back(major_minor(architecture.capability));
    later = later || (architecture.ptx && architecture.scope == ' ');
  }
  return fmt::format("{}{}", fmt::join(names, ", "), later ? " and later" : "");
}

std::optional<std::string> code_problem(const CudaVersions& versions, const CudaDeviceInfo& gpu) {
  switch (code_for(versions.architectures, capability_of(gpu))) {
    case GpuCode::binary:
      return {};
    case GpuCode::none:
      return fmt::format("{}, but this build has code for {} only: {}", name_of(gpu),
                         describe_architectures(versions.architectures), option_for(gpu));
    case GpuCode::ptx:
      break;
  }
  // A driver compiles PTX of its own CUDA version or an older one only.
  if (versions.driver_cuda >= versions.toolkit) return {};
  return fmt::format(
      "{}, for which this build has only PTX, and a driver that supports CUDA {} cannot compile "
      "PTX of CUDA {}: update the driver, or {}",
      name_of(gpu), major_minor(versions.driver_cuda), major_minor(versions.toolkit),
      option_for(gpu));
}

std::optional<std::string> dtype_problem(DType dtype, const CudaDeviceInfo& gpu) {
  if (dtype != DType::bf16 || capability_of(gpu) >= bf16_capability) return {};
  return fmt::format("precision: bf16 needs compute capability {}, but {}: use fp16 or fp32",
                     major_minor(bf16_capability), name_of(gpu));
}

void probe_gpu(int index) {
  const DeviceId gpu{DeviceKind::cuda, index};
  std::vector<uint32_t> written(size_t{1} << 18), read(written.size());
  std::iota(written.begin(), written.end(), 0x9e3779b9u);
  const size_t bytes = written.size() * sizeof(uint32_t);
  make_current(gpu);
  // Up, across, and down again: both copy engines and two places in memory.
  auto stream = make_stream(gpu);
  auto first = allocate_memory(gpu, bytes), second = allocate_memory(gpu, bytes);
  first->write(written.data(), bytes);
  stream->copy(second->data(), first->data(), bytes);
  stream->synchronize();
  second->read(read.data(), bytes);
  if (read != written)
    fail(Category::collective,
         "{}: its memory does not return what was written to it; replace the GPU or leave it out",
         to_string(gpu));
}

}  // namespace spire
