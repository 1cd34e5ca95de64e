// trainer devices: devices of this machine that a config may name, with the versions of their
// software; --watch: a live table of them. trainer version [--verbose]: this build and its
// libraries.
#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>
#include <gnu/libc-version.h>

#include <spire/load_config.h>

#include "build_info.h"
#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "tools/commands.h"
#include "tools/devices/devices.h"
#include "tools/output/streams.h"

namespace spire {

namespace {

constexpr double least_seconds = 0.1, most_seconds = 86'400;

// CLI11 hands over one of these for an option without its optional value.
bool is_no_value(const std::string& word) {
  return word.empty() || word == "true";
}

std::string watch_interval(const std::string& word) {
  if (is_no_value(word)) return "";
  try {
    double seconds = parse_number(word);
    if (seconds >= least_seconds && seconds <= most_seconds) return "";
    return fmt::format("expected {} to {} seconds, got {}", least_seconds, most_seconds, word);
  } catch (const Error& error) {
    return error.what();
  }
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) print_result("{}\n", line);
}

// Writes, copies and reads memory of each GPU that this process may use, and prints each at once,
// as the next one may hang. A GPU that fails leaves CUDA of this process unusable. Throws
// Error(device) if there is none, and Error(collective) behind the last if one fails.
void probe_all() {
  CudaStatus cuda = discover_cuda();
  if (cuda.devices.empty()) fail(Category::device, "there is no GPU to test: {}", cuda.why_none);
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

void add_devices_options(CLI::App& app, ParsedWords& words) {
  app.add_flag("--probe", words.arguments.probe,
               "test each GPU by writing and reading its memory; exit code 8 if one fails");
  WatchArguments& arguments = words.arguments.watch;
  auto take = [&arguments](const CLI::results_t& values) {
    arguments.seconds = is_no_value(values[0]) ? 2 : parse_number(values[0]);
    return true;
  };
  CLI::Option* watch =
      app.add_option(
             "--watch", CLI::callback_t(take),
             "a live table of all GPUs and the cores of the host, with who uses them, every "
             "SECONDS (2); Ctrl+C ends it. Without a terminal: a line a device and sample")
          ->expected(0, 1)
          ->check(watch_interval)
          ->excludes(app.get_option("--probe"))
          ->type_name("[SECONDS]");
  app.add_option("--count", arguments.count, "end after N samples")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->needs(watch)
      ->type_name("N");
}

int run_devices(const Arguments& arguments) {
  if (arguments.watch.seconds) return watch_devices(arguments.watch);
  print_result("{}\n", cores_line());
  print_lines(gpu_lines());
  arguments.probe ? probe_all() : print_lines(gpu_memory_lines(GpuMonitor()));
  return 0;
}

void add_version_options(CLI::App& app, ParsedWords& words) {
  app.add_flag("--verbose", words.arguments.verbose, "build, libraries and GPU software too");
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
