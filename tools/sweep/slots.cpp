#include "tools/sweep/slots.h"

#include <algorithm>

#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/devices.h"
#include "engine/train/placement/idle_gpus.h"
#include "engine/train/placement/placement.h"

namespace spire {

namespace {

using Words = std::vector<std::string>;

const std::string& uuid_of(DeviceId device, const RankHardware& hardware) {
  return std::ranges::find(hardware.gpus, device.index, &CudaDeviceInfo::index)->uuid;
}

DeviceId find_gpu(const std::string& word, const RankHardware& hardware) {
  std::vector<DeviceId> found = named_gpus(word, hardware.gpus);
  if (found.size() == 1) return found[0];
  if (found.size() > 1)
    fail(Category::config, "--devices: {} begins the UUIDs of {} GPUs; write more of it", word,
         found.size());
  fail(Category::device, "--devices: {} is not there: {}", word,
       hardware.gpus.empty() ? hardware.why_no_gpu : "there are " + list_gpus(hardware.gpus));
}

std::vector<DeviceId> all_gpus(const RankHardware& hardware) {
  if (hardware.gpus.empty())
    fail(Category::device, "devices: cuda, but there is no GPU: {}", hardware.why_no_gpu);
  std::vector<DeviceId> devices;
  for (const CudaDeviceInfo& gpu : hardware.gpus) devices.push_back({DeviceKind::cuda, gpu.index});
  return devices;
}

std::vector<DeviceId> first_gpus(int count, const RankHardware& hardware) {
  std::vector<DeviceId> devices = all_gpus(hardware);
  if (std::ssize(devices) < count)
    fail(Category::device, "--devices: {} asked for, but there are {}", counted(count, "GPU"),
         list_gpus(hardware.gpus));
  devices.resize(static_cast<size_t>(count));
  return devices;
}

std::vector<DeviceId> find_devices(const Words& words, const RankHardware& hardware) {
  for (const std::string& word : words)
    if (names_gpu(word) != names_gpu(words[0]))
      fail(Category::config, "--devices: {} and {} are different kinds, whose results differ",
           words[0], word);
  std::vector<DeviceId> devices;
  for (const std::string& word : words)
    devices.push_back(names_gpu(word) ? find_gpu(word, hardware) : parse_device(word));
  return devices;
}

// The devices of the slots before --jobs is looked at.
std::vector<DeviceId> asked_devices(const Words& asked, const Words& configured,
                                    const RankHardware& hardware) {
  Words words = without_limits(expand_devices(asked.empty() ? configured : asked));
  bool automatic = words == Words{"auto"};
  auto group = gpu_group(words[0]);  // of an idle one, hardware has no others
  if (group && group->count && !asked.empty()) return first_gpus(*group->count, hardware);
  if (group || (automatic && !hardware.gpus.empty())) return all_gpus(hardware);
  if (automatic) return {DeviceId{}};
  if (!asked.empty()) return find_devices(words, hardware);
  // The config says of which kind the slots are, and not how many.
  return names_gpu(words[0]) ? all_gpus(hardware) : std::vector{DeviceId{}};
}

void keep_jobs(std::vector<DeviceId>& devices, const SlotRequest& request) {
  if (request.jobs < 0) fail(Category::config, "--jobs {}: must be 0 or more", request.jobs);
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
void divide_cores(std::vector<SweepSlot>& slots) {
  std::vector<std::vector<int>> common;
  for (const SweepSlot& slot : slots) common.push_back(slot.cores);
  for (size_t i = 0; i < slots.size(); ++i) {
    auto before = std::count(common.begin(), common.begin() + static_cast<ptrdiff_t>(i), common[i]);
    auto all = std::ranges::count(common, common[i]);
    slots[i].cores = cores_of_device(common[i], static_cast<int>(before), static_cast<int>(all));
  }
}

// Returns this machine's cores and GPUs; of the GPUs, where auto:N asks for them, N idle ones.
RankHardware hardware_for(const SlotRequest& request, RunConfig config, GpuClaims& claims,
                          const SlotQueue& queue) {
  RankHardware hardware = local_hardware();
  if (!request.devices.empty()) config.devices = request.devices;
  config.devices = expand_devices(config.devices);
  auto group = gpu_group(config.devices[0]);
  if (!group || !group->idle) return hardware;
  using OnMissing = RunConfig::OnMissing;
  if (config.on_missing == OnMissing::cpu) config.on_missing = OnMissing::fail;
  keep_idle_gpus(config, {claims, queue.wait, queue.say}, GpuMonitor(), hardware);
  if (std::ssize(hardware.gpus) < *group->count)
    queue.say(fmt::format("warning: {} of {} idle (on_missing: fewer)", hardware.gpus.size(),
                          counted(*group->count, "GPU")));
  return hardware;
}

}  // namespace

std::vector<SweepSlot> make_slots(const SlotRequest& request, const RunConfig& config,
                                  const RankHardware& hardware) {
  std::vector<DeviceId> devices = asked_devices(request.devices, config.devices, hardware);
  keep_jobs(devices, request);
  std::vector<int> computing(hardware.cores.begin(),
                             hardware.cores.begin() + hardware.max_threads());
  std::vector<SweepSlot> slots;
  for (DeviceId device : devices) {
    SweepSlot slot{.device = device, .cores = computing};
    if (device.kind == DeviceKind::cuda) {
      slot.uuid = uuid_of(device, hardware);
      slot.cores = hardware.cores_near(device);
    }
    slots.push_back(std::move(slot));
  }
  divide_cores(slots);
  return slots;
}

SweepSlots::SweepSlots(const SlotRequest& request, const RunConfig& config, const SlotQueue& queue)
    : slots_(make_slots(request, config, hardware_for(request, config, claims_, queue))) {
  for (const SweepSlot& slot : slots_) {
    if (auto holder = claims_.claim(slot.uuid))
      queue.say(fmt::format("warning: {} is also used by {}; --devices auto:N takes idle GPUs",
                            to_string(slot.device), to_string(*holder)));
  }
}

std::vector<Variable> SweepSlots::variables(const SweepSlot& slot) {
  if (slot.uuid.empty()) return {};
  return {{"CUDA_VISIBLE_DEVICES", slot.uuid}, {claim_holder, std::to_string(::getpid())}};
}

std::string to_string(const SweepSlot& slot) {
  return fmt::format("{} ({})", to_string(slot.device), describe_cores(slot.cores));
}

}  // namespace spire
