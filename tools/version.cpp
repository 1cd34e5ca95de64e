// trainer version [--verbose]
#include <gnu/libc-version.h>

#include <spire/error.h>

#include "build_info.h"
#include "tools/commands.h"
#include "tools/gpu_versions.h"
#include "tools/streams.h"

namespace spire::tool {

namespace {

void print_cuda() {
  CudaStatus cuda = discover_cuda();
  print_result("cuda: {}\n", !cuda.built ? "not in this build"
                             : cuda.why_none.empty()
                                 ? fmt::format("{} devices", cuda.devices.size())
                                 : cuda.why_none);
  auto versions = cuda_versions();
  if (!versions) return;
  for (const std::string& text : version_texts(*versions)) print_result("  {}\n", text);
}

// The library lines, indented.
void print_libraries(std::string_view lines) {
  print_result("libraries:\n");
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size() - 1);
    print_result("  {}\n", lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
}

}  // namespace

int run_version(const Arguments& arguments) {
  print_result("spire {}\n", build_info::kVersion);
  if (!arguments.verbose) return 0;
  print_result("build: {}, {}, -march={}{}{}\n", build_info::kBuildType, build_info::kCompiler,
               build_info::kArchitecture, build_info::kSanitizers.empty() ? "" : ", sanitizers ",
               build_info::kSanitizers);
  print_result("glibc: {}, this build: {}.{}\n", gnu_get_libc_version(), __GLIBC__,
               __GLIBC_MINOR__);
  print_libraries(build_info::kLibraries);
  print_cuda();
  return 0;
}

}  // namespace spire::tool
