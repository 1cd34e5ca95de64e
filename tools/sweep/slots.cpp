#include "tools/sweep/slots.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/config/devices.h"

namespace spire::tool {

namespace {

using Words = std::vector<std::string>;

const CudaDeviceInfo& find_gpu(int index, const RankHardware& hardware) {
  auto gpu = std::ranges::find(hardware.gpus, index, &CudaDeviceInfo::index);
  if (gpu != hardware.gpus.end()) return *gpu;
  fail(Category::device, "--devices: cuda:{} is not there: {}", index,
       hardware.gpus.empty() ? hardware.why_no_gpu : "there are " + list_gpus(hardware.gpus));
}

std::vector<DeviceId> all_gpus(const RankHardware& hardware) {
  if (hardware.gpus.empty())
    fail(Category::device, "devices: cuda, but there is no GPU: {}", hardware.why_no_gpu);
  std::vector<DeviceId> devices;
  for (const CudaDeviceInfo& gpu : hardware.gpus) devices.push_back({DeviceKind::cuda, gpu.index});
  return devices;
}

std::vector<DeviceId> parse_devices(const Words& words) {
  std::vector<DeviceId> devices;
  for (const std::string& word : words) devices.push_back(parse_device(word));
  for (DeviceId device : devices)
    if (device.kind != devices[0].kind)
      fail(Category::config, "--devices: {} and {} are different kinds, whose results differ",
           to_string(devices[0]), to_string(device));
  return devices;
}

// The devices of the slots before --jobs is looked at.
std::vector<DeviceId> asked_devices(const Words& asked, const Words& configured,
                                    const RankHardware& hardware) {
  Words words = expand_devices(asked.empty() ? configured : asked);
  bool automatic = words == Words{"auto"};
  if (words == Words{"cuda"} || (automatic && !hardware.gpus.empty())) return all_gpus(hardware);
  if (automatic) return {DeviceId{}};
  std::vector<DeviceId> devices = parse_devices(words);
  if (!asked.empty()) return devices;
  // The config says of which kind the slots are, and not how many.
  return devices[0].kind == DeviceKind::cuda ? all_gpus(hardware) : std::vector{DeviceId{}};
}

void keep_jobs(std::vector<DeviceId>& devices, const SlotRequest& request) {
  if (request.jobs == 0) return;
  auto jobs = static_cast<size_t>(request.jobs);
  if (devices[0].kind == DeviceKind::cpu && request.devices.empty()) {
    devices.clear();
    for (size_t i = 0; i < jobs; ++i) devices.push_back({DeviceKind::cpu, static_cast<int>(i)});
  }
  if (jobs > devices.size())
    fail(Category::config,
         "--jobs {}: there {} only {}; a device that --devices names twice runs two jobs", jobs,
         devices.size() == 1 ? "is" : "are", counted(std::ssize(devices), "device"));
  devices.resize(jobs);
}

// Each slot's part of the cores that it and `others` have in common.
void divide_cores(std::vector<Slot>& slots) {
  std::vector<std::vector<int>> common;
  for (const Slot& slot : slots) common.push_back(slot.cores);
  for (size_t i = 0; i < slots.size(); ++i) {
    auto before = std::count(common.begin(), common.begin() + static_cast<ptrdiff_t>(i), common[i]);
    auto all = std::ranges::count(common, common[i]);
    slots[i].cores = cores_of_device(common[i], static_cast<int>(before), static_cast<int>(all));
  }
}

}  // namespace

std::vector<Slot> make_slots(const SlotRequest& request, const RunConfig& config,
                             const RankHardware& hardware) {
  std::vector<DeviceId> devices = asked_devices(request.devices, config.devices, hardware);
  keep_jobs(devices, request);
  std::vector<int> computing(hardware.cores.begin(),
                             hardware.cores.begin() + hardware.max_threads());
  std::vector<Slot> slots;
  for (DeviceId device : devices) {
    Slot slot{.device = device, .cores = computing};
    if (device.kind == DeviceKind::cuda) {
      slot.uuid = find_gpu(device.index, hardware).uuid;
      slot.cores = hardware.cores_near(device);
    }
    slots.push_back(std::move(slot));
  }
  divide_cores(slots);
  return slots;
}

}  // namespace spire::tool
