// trainer devices: devices of this machine that a config may name, with the versions of their
// software; --watch: a live table of them. trainer version [--verbose]: this build and its
// libraries.
#include <fmt/ranges.h>
#include <gnu/libc-version.h>

#include <spire/error.h>

#include "build_info.h"
#include "engine/data/text/vocabulary.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/topology.h"
#include "engine/train/placement/placement.h"
#include "tools/commands.h"
#include "tools/devices/watch_devices.h"
#include "tools/output/gpu_memory.h"
#include "tools/output/streams.h"

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

// Returns "driver 580.65.06 (CUDA 13.0)", "cuDNN 9.19.0", ..., "kernels for 9.0 and later".
std::vector<std::string> version_texts(const CudaVersions& versions) {
  return {fmt::format("toolkit {}", major_minor(versions.toolkit)),
          driver_text(versions),
          text_of("cuBLAS", versions.cublas),
          text_of("cuDNN", versions.cudnn),
          text_of("NCCL", versions.nccl),
          versions.nvrtc ? fmt::format("NVRTC {}", major_minor(versions.nvrtc)) : "no NVRTC loaded",
          fmt::format("kernels for {}", describe_architectures(versions.architectures))};
}

// Returns a line per finding: "problem  " for what ends a run on these GPUs, "note     " for what
// makes it slower or is untested; each with its remedy.
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

void print_cpu(const Topology& topology) {
  const CoreLimits& limits = topology.limits;
  print_result(
      "cpu     {} of {} cores: {}{}{}\n", topology.cores.size(), topology.online,
      core_ranges(topology.cores),
      limits.omp_threads > 0 ? fmt::format(" (OMP_NUM_THREADS={})", limits.omp_threads) : "",
      limits.quota > 0 ? fmt::format(" (cgroup quota {:.1f} CPUs)", limits.quota) : "");
}

void print_cuda(const CudaStatus& cuda) {
  if (cuda.devices.empty()) print_result("cuda    none: {}\n", cuda.why_none);
  for (const CudaDeviceInfo& gpu : cuda.devices) {
    print_result("cuda:{}  {}, {:.1f} GiB, compute {}.{}, PCI {}, {}\n", gpu.index, gpu.name,
                 static_cast<double>(gpu.total_bytes) / (1 << 30), gpu.compute_major,
                 gpu.compute_minor, gpu.pci_bus_id, gpu.uuid);
  }
  auto versions = cuda_versions();
  if (cuda.devices.empty() || !versions) return;
  print_result("with    {}\n", fmt::join(version_texts(*versions), ", "));
  for (const std::string& line : finding_lines(*versions, cuda.devices)) print_result("{}\n", line);
}

// Tests every GPU, also after one has failed. Returns the exit code.
int probe(const CudaStatus& cuda) {
  if (cuda.devices.empty())
    fail(Category::device, "--probe: there is no GPU to test: {}", cuda.why_none);
  std::string failed;
  for (const CudaDeviceInfo& gpu : cuda.devices) {
    try {
      probe_gpu(gpu.index);
      print_result("cuda:{}  works\n", gpu.index);
    } catch (const Error& error) {
      if (error.category() == Category::out_of_memory) {  // other programs fill it
        print_result("cuda:{}  is full: {}\n", gpu.index, error.what());
        continue;
      }
      print_result("cuda:{}  fails: {}\n", gpu.index, error.what());
      failed += (failed.empty() ? "" : ", ") + describe(gpu);
    }
  }
  if (!failed.empty()) fail(Category::collective, "fails: {}", failed);
  return 0;
}

void print_cuda_software() {
  CudaStatus cuda = discover_cuda();
  print_result("cuda: {}\n", !cuda.built ? "not in this build"
                             : cuda.why_none.empty()
                                 ? fmt::format("{} devices", cuda.devices.size())
                                 : cuda.why_none);
  auto versions = cuda_versions();
  if (!versions) return;
  for (const std::string& text : version_texts(*versions)) print_result("  {}\n", text);
}

// Prints the lines, indented.
void print_libraries(std::string_view lines) {
  print_result("libraries:\n");
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size() - 1);
    print_result("  {}\n", lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
}

}  // namespace

int run_devices(const Arguments& arguments) {
  if (arguments.watch.seconds) return watch_devices(arguments.watch);
  print_cpu(discover_topology());
  CudaStatus cuda = discover_cuda();
  print_cuda(cuda);
  if (arguments.probe) return probe(cuda);
  for (const std::string& line : gpu_memory_lines(GpuMonitor())) print_result("{}\n", line);
  return 0;
}

int run_version(const Arguments& arguments) {
  print_result("spire {}\n", build_info::version);
  if (!arguments.verbose) return 0;
  print_result("build: {}, {}, -march={}{}{}\n", build_info::build_type, build_info::compiler,
               build_info::architecture, build_info::sanitizers.empty() ? "" : ", sanitizers ",
               build_info::sanitizers);
  print_result("glibc: {}, this build: {}.{}\n", gnu_get_libc_version(), __GLIBC__,
               __GLIBC_MINOR__);
  print_result("Unicode: {} (PCRE2's)\n", unicode_version());
  print_libraries(build_info::libraries);
  print_cuda_software();
  return 0;
}

}  // namespace spire::tool
