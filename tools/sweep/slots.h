// The slots of a sweep: places on this machine where one run at a time trains.
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/train/placement/rank_hardware.h"

namespace spire::tool {

struct Slot {
  DeviceId device;         // as the user knows it: the GPU's number here, or the share of the cores
  std::string uuid = {};   // of a GPU
  std::vector<int> cores;  // logical CPUs that its run may use

  // The device's name in its run: a run sees one GPU, or its own cores, as the first one.
  std::string word() const { return device.kind == DeviceKind::cuda ? "cuda:0" : "cpu:0"; }
};

// What the user asks for; 0 and empty stand for the default.
struct SlotRequest {
  std::vector<std::string> devices = {};  // as in the config: {"4xcpu"}, {"cuda:0", "cuda:2"}
  int64_t jobs = 0;                       // number of slots
};

// hardware: of share_out(). Slots are by default the machine's GPUs if `devices` of the config
// means GPUs, else one with all cores; `jobs` takes the first so many GPUs, or divides the cores.
// GPUs that are near the same cores share these. A GPU named twice is two slots. Throws
// Error(config), Error(device) for GPUs that are not there.
std::vector<Slot> make_slots(const SlotRequest& request, const RunConfig& config,
                             const RankHardware& hardware);

}  // namespace spire::tool
