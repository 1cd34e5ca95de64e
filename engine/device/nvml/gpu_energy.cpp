#include "engine/device/nvml/gpu_energy.h"

#include <set>

namespace spire {

GpuEnergy::GpuEnergy(const std::vector<CudaDeviceInfo>& gpus, const std::string& file) {
  if (gpus.empty()) return;
  monitor_ = std::make_unique<GpuMonitor>(file);
  std::set<int> numbers;
  for (const CudaDeviceInfo& gpu : gpus) {
    const HostGpu* found = monitor_->find(gpu.pci_bus_id);
    if (!found || (!numbers.contains(found->number) && !monitor_->joules(found->number))) return;
    numbers.insert(found->number);
  }
  numbers_.assign(numbers.begin(), numbers.end());
}

int64_t GpuEnergy::count() const {
  return std::ssize(numbers_);
}

std::optional<double> GpuEnergy::joules() const {
  if (numbers_.empty()) return std::nullopt;
  double sum = 0;
  for (int number : numbers_) {
    auto joules = monitor_->joules(number);
    if (!joules) return std::nullopt;
    sum += *joules;
  }
  return sum;
}

}  // namespace spire
