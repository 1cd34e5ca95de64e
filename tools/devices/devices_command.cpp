// trainer devices: devices of this machine that a config may name, with the versions of their
// software; --watch: a live table of them. trainer version [--verbose]: this build and its
// libraries.
#include <algorithm>
#include <string_view>

#include <gnu/libc-version.h>

#include <spire/error.h>

#include "build_info.h"
#include "engine/base/system.h"
#include "tools/commands.h"
#include "tools/devices/machine_report.h"
#include "tools/devices/watch_devices.h"
#include "tools/output/streams.h"

namespace spire {

namespace {

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) print_result("{}\n", line);
}

// Throws if a GPU fails, after the last.
void probe_all() {
  std::string failed;
  probe_gpus([&](const GpuProbe& probe) {
    if (probe.outcome == GpuProbe::Outcome::works) {
      print_result("cuda:{}  works\n", probe.gpu.index);
    } else if (probe.outcome == GpuProbe::Outcome::full) {
      print_result("cuda:{}  is full: {}\n", probe.gpu.index, probe.problem);
    } else {
      print_result("cuda:{}  fails: {}\n", probe.gpu.index, probe.problem);
      failed += (failed.empty() ? "" : ", ") + describe(probe.gpu);
    }
  });
  if (!failed.empty()) fail(Category::collective, "fails: {}", failed);
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
  print_result("{}\n", cores_line());
  print_lines(gpu_lines());
  arguments.probe ? probe_all() : print_lines(gpu_memory_lines());
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
  print_lines(cuda_software_lines());
  return 0;
}

}  // namespace spire
