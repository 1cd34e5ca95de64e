#include "tools/bench/runs/energy.h"

#include <algorithm>
#include <fstream>

#include <fmt/ranges.h>

#include "engine/base/proc_files.h"
#include "engine/base/text.h"
#include "engine/config/devices.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  double number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<CudaDeviceInfo> counted_gpus(const RunConfig& config) {
  return are_gpus(expand_devices(config.devices)) ? discover_cuda().devices
                                                  : std::vector<CudaDeviceInfo>();
}

EnergyMeter::EnergyMeter(const std::vector<CudaDeviceInfo>& gpus, const fs::path& root,
                         const std::string& nvml)
    : gpus_(gpus, nvml) {
  find_packages(root / "sys/class/powercap");
  start();
}

// Zones of other control types (intel-rapl-mmio) count the same packages again; subzones (cores,
// dram) are parts of a package, or are outside it and not on all machines.
void EnergyMeter::find_packages(const fs::path& folder) {
  std::error_code missing;
  for (const auto& zone : fs::directory_iterator(folder, missing)) {
    std::string file = zone.path().filename().string();
    bool whole = file.starts_with("intel-rapl:") && std::ranges::count(file, ':') == 1;
    std::string name = first_line(zone.path() / "name");
    if (!whole || !name.starts_with("package")) continue;
    fs::path counter = zone.path() / "energy_uj";
    auto range = number_in(zone.path() / "max_energy_range_uj");
    if (range && number_in(counter)) {
      packages_.push_back({name, counter, *range});
    } else {
      unreadable_ = counter.string();
    }
  }
  std::ranges::sort(packages_, {}, &Package::name);
}

void EnergyMeter::start() {
  started_ = !packages_.empty() || gpus_.count() > 0;
  for (Package& package : packages_) {
    auto now = number_in(package.counter);
    package.begin = now.value_or(0);
    started_ = started_ && now;
  }
  auto gpus = gpus_.joules();
  gpus_begin_ = gpus.value_or(0);
  started_ = started_ && (gpus || gpus_.count() == 0);
}

std::optional<double> EnergyMeter::joules() const {
  if (!started_) return std::nullopt;
  double joules = 0;
  for (const Package& package : packages_) {
    auto now = number_in(package.counter);
    if (!now) return std::nullopt;
    double used = *now - package.begin;
    joules += 1e-6 * (used < 0 ? used + package.range : used);
  }
  if (gpus_.count() == 0) return joules;
  auto gpus = gpus_.joules();
  return gpus ? std::optional(joules + *gpus - gpus_begin_) : std::nullopt;
}

std::string EnergyMeter::text() const {
  std::vector<std::string> parts;
  if (!packages_.empty()) {
    std::vector<std::string> names;
    for (const Package& package : packages_) names.push_back(package.name);
    parts.push_back(fmt::format("{} (RAPL)", fmt::join(names, ", ")));
  }
  if (gpus_.count() > 0) parts.push_back(counted(gpus_.count(), "GPU") + " (NVML)");
  if (!parts.empty()) return fmt::format("{}", fmt::join(parts, "; "));
  if (!unreadable_.empty())
    return fmt::format("none: {} cannot be read; only root may, unless its mode is changed",
                       unreadable_);
  return "none: this machine has no counter of energy";
}

}  // namespace spire
