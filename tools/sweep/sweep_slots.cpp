#include <unistd.h>

#include "engine/base/text.h"
#include "engine/config/devices.h"
#include "engine/device/gpu_claims.h"
#include "engine/train/placement/idle_gpus.h"
#include "engine/train/placement/placement.h"
#include "tools/sweep/slots.h"

namespace spire {

struct SweepSlots::Claims {
  GpuClaims gpus;
};

namespace {

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

SweepSlots::SweepSlots(const SlotRequest& request, const RunConfig& config, const SlotQueue& queue)
    : claims_(std::make_unique<Claims>()),
      slots_(make_slots(request, config, hardware_for(request, config, claims_->gpus, queue))) {
  for (const SweepSlot& slot : slots_) {
    if (auto holder = claims_->gpus.claim(slot.uuid))
      queue.say(fmt::format("warning: {} is also used by {}; --devices auto:N takes idle GPUs",
                            to_string(slot.device), to_string(*holder)));
  }
}

SweepSlots::~SweepSlots() = default;

std::vector<std::pair<std::string, std::string>> SweepSlots::variables(const SweepSlot& slot) {
  if (slot.uuid.empty()) return {};
  return {{"CUDA_VISIBLE_DEVICES", slot.uuid}, {claim_holder, std::to_string(::getpid())}};
}

std::string to_string(const SweepSlot& slot) {
  return fmt::format("{} ({})", to_string(slot.device), describe_cores(slot.cores));
}

}  // namespace spire
