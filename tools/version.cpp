// trainer version [--verbose]
#include <spire/base/error.h>
#include <spire/device/device.h>

#include "build_info.h"
#include "commands.h"

namespace spire::tool {

namespace {

void print_if_known(std::string_view name, const std::string& version) {
  if (!version.empty()) fmt::print("  {} {}\n", name, version);
}

void print_cuda() {
  CudaStatus cuda = discover_cuda();
  fmt::print("cuda: {}\n", !cuda.built             ? "not in this build"
                           : cuda.why_none.empty() ? fmt::format("{} devices", cuda.devices.size())
                                                   : cuda.why_none);
  print_if_known("toolkit", cuda.toolkit);
  print_if_known("driver", cuda.driver);
  print_if_known("cuBLAS", cuda.cublas);
  print_if_known("cuDNN", cuda.cudnn);
  print_if_known("NCCL", cuda.nccl);
}

// The library lines, indented.
void print_libraries(std::string_view lines) {
  fmt::print("libraries:\n");
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size() - 1);
    fmt::print("  {}\n", lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
}

}  // namespace

int run_version(const Arguments& arguments) {
  fmt::print("spire {}\n", build_info::kVersion);
  if (!arguments.verbose) return 0;
  fmt::print("build: {}, {}, -march={}{}{}\n", build_info::kBuildType, build_info::kCompiler,
             build_info::kArchitecture, build_info::kSanitizers.empty() ? "" : ", sanitizers ",
             build_info::kSanitizers);
  print_libraries(build_info::kLibraries);
  print_cuda();
  return 0;
}

}  // namespace spire::tool
