#include "engine/bench/runs/machine.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <sys/utsname.h>

#include <fmt/ranges.h>

#include "engine/device/device.h"
#include "engine/device/topology.h"

namespace spire::inline bench {
namespace {

// Returns the value of a key's first line in /proc/cpuinfo; empty if there is none.
std::string cpu_info(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    size_t value = line.find(": ");
    return value == line.npos ? "" : line.substr(value + 2);
  }
  return "";
}

// Those extensions of the processor that matrix products use.
std::string instructions() {
  struct Extension {
    const char *flag, *name;
  };
  constexpr Extension extensions[] = {
      {"avx2", "AVX2"},  {"avx512f", "AVX-512"}, {"avx512_bf16", "BF16"}, {"amx_bf16", "AMX"},
      {"asimd", "NEON"}, {"sve", "SVE"},         {"bf16", "BF16"}};
  std::istringstream words(cpu_info("flags") + " " + cpu_info("Features"));
  std::set<std::string> flags{std::istream_iterator<std::string>(words), {}};
  std::vector<std::string> names;
  for (const auto& [flag, name] : extensions)
    if (flags.contains(flag)) names.emplace_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Machine this_machine() {
  utsname system{};
  uname(&system);
  Machine machine;
  machine.host = system.nodename;
  machine.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  machine.cpu = cpu_info("model name");
  machine.cores = std::ssize(discover_topology().cores);
  machine.instructions = instructions();
  for (const CudaDeviceInfo& gpu : discover_cuda().devices) machine.gpus.push_back(gpu.name);
  return machine;
}

}  // namespace spire::inline bench
