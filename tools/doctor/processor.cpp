#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/ranges.h>

#include "engine/base/proc_files.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Returns the value of the first line that begins with the key; empty if there is none.
std::string cpu_info(const fs::path& root, const std::string& key) {
  std::ifstream file(root / "proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    size_t value = line.find(": ");
    return value == line.npos ? "" : line.substr(value + 2);
  }
  return "";
}

Finding check_instructions(const Processor& processor) {
  std::vector<std::string> names = instruction_sets(processor);
  std::string list =
      names.empty() ? "none that products use" : fmt::format("{}", fmt::join(names, ", "));
  std::string name = processor.name.empty() ? "processor" : processor.name;
  Finding finding{"instructions", FindingLevel::ok, fmt::format("{}: {}", name, list)};
  bool x86 = !processor.vendor.empty();
  if (!x86 || processor.flags.contains("avx2")) return finding;
  return warning(
      std::move(finding),
      "training on this CPU is several times slower than on one with AVX2; a virtual machine may "
      "hide what the processor has (CPU model host)");
}

// The precision in which runs are fastest without losing accuracy (docs/numerics.md).
Finding check_precision(const Processor& processor, const std::vector<CudaDeviceInfo>& gpus) {
  if (!gpus.empty()) {
    int least = std::ranges::min_element(gpus, {}, &CudaDeviceInfo::compute_major)->compute_major;
    if (least >= 8)
      return {"precision", FindingLevel::ok, "precision: bf16 is the fastest on these GPUs"};
    std::string seen = "GPUs of compute capability below 8.0 do not compute in bf16: ";
    return {"precision", FindingLevel::ok,
            seen + (least >= 7 ? "use precision: fp16" : "use precision: fp32")};
  }
  if (processor.flags.contains("amx_bf16"))
    return {"precision", FindingLevel::ok,
            "precision: bf16 is the fastest here: AMX multiplies it"};
  if (processor.flags.contains("avx512f"))
    return {"precision", FindingLevel::ok,
            "precision: bf16 gains a tenth with AVX-512 for convolutions, and nothing elsewhere; "
            "trainer bench --precisions fp32,bf16 measures it"};
  return {"precision", FindingLevel::ok, "precision: fp32 suits this CPU"};
}

Finding check_governor(const Processor& processor) {
  const std::string& governor = processor.governor;
  if (governor.empty()) return {"governor", FindingLevel::ok, "the system does not tell"};
  Finding finding{"governor", FindingLevel::ok, "frequency governor " + governor};
  // The pstate drivers raise the clock on demand in powersave, too.
  bool own = processor.frequency_driver == "intel_pstate" ||
             processor.frequency_driver.starts_with("amd-pstate");
  if (governor != "powersave" || own) return finding;
  return warning(
      std::move(finding),
      "cores stay at their lowest clock; as root: cpupower frequency-set -g performance");
}

Finding check_clock_source(const Processor& processor) {
  const std::string& source = processor.clock_source;
  if (source.empty()) return {"clock_source", FindingLevel::ok, "the system does not tell"};
  Finding finding{"clock_source", FindingLevel::ok, "clock source " + source};
  if (source != "hpet" && source != "acpi_pm" && source != "jiffies") return finding;
  return warning(
      std::move(finding),
      "each reading of this clock takes about a microsecond, and times are less exact; the kernel "
      "gave up tsc (dmesg | grep -i tsc)");
}

}  // namespace

Processor read_processor(const fs::path& root) {
  Processor processor;
  processor.name = cpu_info(root, "model name");
  processor.vendor = cpu_info(root, "vendor_id");
  std::istringstream words(cpu_info(root, "flags") + " " + cpu_info(root, "Features"));
  processor.flags = {std::istream_iterator<std::string>(words), {}};
  const fs::path system = root / "sys/devices/system";
  processor.clock_source = first_line(system / "clocksource/clocksource0/current_clocksource");
  processor.governor = first_line(system / "cpu/cpu0/cpufreq/scaling_governor");
  processor.frequency_driver = first_line(system / "cpu/cpu0/cpufreq/scaling_driver");
  return processor;
}

std::vector<std::string> instruction_sets(const Processor& processor) {
  struct Extension {
    const char *flag, *name;
  };
  constexpr Extension extensions[] = {
      {"avx2", "AVX2"},  {"avx512f", "AVX-512"}, {"avx512_bf16", "BF16"}, {"amx_bf16", "AMX"},
      {"asimd", "NEON"}, {"sve", "SVE"},         {"bf16", "BF16"}};
  std::vector<std::string> names;
  for (const auto& [flag, name] : extensions)
    if (processor.flags.contains(flag)) names.emplace_back(name);
  return names;
}

Findings check_processor(const Processor& processor, const std::vector<CudaDeviceInfo>& gpus) {
  return {check_instructions(processor), check_precision(processor, gpus),
          check_governor(processor), check_clock_source(processor)};
}

}  // namespace spire
