#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/device/nvml/gpu_monitor.h"
#include "engine/train/monitor/device_reader.h"

namespace spire {
namespace {

class GpuReader final : public DeviceReader {
 public:
  GpuReader(std::vector<WatchedDevice> devices, std::string file)
      : devices_(std::move(devices)), file_(std::move(file)), failed_(devices_.size()) {}

  void read(std::span<DeviceNumbers> numbers, std::vector<std::string>& problems) override {
    if (!monitor_) monitor_.emplace(file_);
    for (size_t d = 0; d < devices_.size(); ++d) {
      auto same = std::ranges::find(devices_, devices_[d].id, &WatchedDevice::id);
      if (auto first = static_cast<size_t>(same - devices_.begin()); first < d) {
        numbers[d] = numbers[first];  // a logical device on the same GPU
        continue;
      }
      const HostGpu* gpu = monitor_->find(devices_[d].pci_bus_id);
      if (!gpu) continue;  // no NVML, or it does not list the GPU: nothing is known
      GpuState state = monitor_->state(gpu->number);
      numbers[d] = numbers_of(state, mig_index(*gpu, devices_[d].uuid));
      note(d, state, problems);
    }
  }

 private:
  static std::optional<size_t> mig_index(const HostGpu& gpu, const std::string& uuid) {
    auto mig = std::ranges::find(gpu.mig_devices, uuid, &MigDevice::uuid);
    if (mig == gpu.mig_devices.end()) return std::nullopt;
    return static_cast<size_t>(mig - gpu.mig_devices.begin());
  }

  // Tells of a failure when it begins.
  void note(size_t device, const GpuState& state, std::vector<std::string>& problems) {
    bool fails = state.condition != GpuCondition::works;
    if (fails && !failed_[device])
      problems.push_back(
          fmt::format("{} cannot be watched: {}", to_string(devices_[device].id), state.problem));
    failed_[device] = fails;
  }

  const std::vector<WatchedDevice> devices_;
  const std::string file_;
  std::optional<GpuMonitor> monitor_;
  std::vector<bool> failed_;
};

}  // namespace

std::unique_ptr<DeviceReader> make_gpu_reader(std::vector<WatchedDevice> devices,
                                              std::string file) {
  return std::make_unique<GpuReader>(std::move(devices), std::move(file));
}

}  // namespace spire
