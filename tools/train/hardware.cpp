#include <spire/error.h>

#include "engine/train/placement/placement.h"
#include "engine/train/placement/rank_hardware.h"
#include "tools/train/gpu_info.h"

namespace spire {
namespace {

CudaDeviceInfo internal(const GpuInfo& gpu) {
  CudaDeviceInfo info;
  info.index = gpu.index;
  info.name = gpu.name;
  info.uuid = gpu.uuid;
  info.pci_bus_id = gpu.pci_bus_id;
  return info;
}

}  // namespace

std::string describe(const GpuInfo& gpu) {
  return spire::describe(internal(gpu));
}

std::vector<int> named_gpus(const std::string& word, const std::vector<GpuInfo>& gpus) {
  std::vector<CudaDeviceInfo> infos;
  for (const GpuInfo& gpu : gpus) infos.push_back(internal(gpu));
  std::vector<int> indices;
  for (DeviceId device : spire::named_gpus(word, infos)) indices.push_back(device.index);
  return indices;
}

ProcessHardware::ProcessHardware() : found_(std::make_shared<RankHardware>(local_hardware())) {}

std::vector<int> ProcessHardware::cores() const {
  return found_->cores;
}

std::vector<GpuInfo> ProcessHardware::gpus() const {
  std::vector<GpuInfo> gpus;
  for (const CudaDeviceInfo& gpu : found_->gpus) gpus.push_back(gpu_info(gpu));
  return gpus;
}

std::string ProcessHardware::why_no_gpu() const {
  return found_->why_no_gpu;
}

ChosenTowers ProcessHardware::choose_towers(const RunConfig& config, int processes) const {
  if (processes < 1) fail(Category::config, "processes: {}; a run has at least 1", processes);
  std::vector<RankHardware> ranks(static_cast<size_t>(processes), *found_);
  leave_spare_gpus(config, ranks);
  Placement placement = place_towers(config, share_out(std::move(ranks)), 0);
  return {.towers = placement.towers, .tower_threads = placement.tower_threads};
}

}  // namespace spire
