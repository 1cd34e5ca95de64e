// Where the runs of a sweep train: the devices of this machine, one run at a time on each.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>
#include <spire/tensor.h>

#include "engine/device/gpu_claims.h"
#include "engine/train/placement/rank_hardware.h"
#include "tools/process/child_process.h"

namespace spire {

// A place on this machine where one run at a time trains.
struct SweepSlot {
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

// Callbacks of a wait for idle GPUs (auto:N); both must be set.
struct SlotQueue {
  std::function<bool(double seconds)> wait;        // sleeps; returns false to give up
  std::function<void(std::string_view line)> say;  // what it waits for; warnings
};

// hardware: this machine's. By default the slots are its GPUs if `devices` of the config means
// GPUs, else one slot with all cores; `jobs` keeps the first so many GPUs, or divides the cores
// into so many slots. GPUs near the same cores divide these cores. A GPU named twice is two slots.
// Throws Error(config), Error(device) for GPUs that are not there. Messages name options as
// `trainer sweep` does.
std::vector<SweepSlot> make_slots(const SlotRequest& request, const RunConfig& config,
                                  const RankHardware& hardware);

// The slots of this machine. While this object lives, their GPUs stay claimed, so that other runs
// with auto:N do not take them. Used by one thread.
class SweepSlots {
 public:
  // Throws as make_slots(), and Error(interrupted) if the wait was given up.
  SweepSlots(const SlotRequest& request, const RunConfig& config, const SlotQueue& queue);

  const std::vector<SweepSlot>& slots() const { return slots_; }

  // Returns environment variables for a process that trains on the slot: it sees that GPU alone,
  // and does not wait for this process's claim on it. Empty for a slot of a CPU.
  static std::vector<Variable> variables(const SweepSlot& slot);

 private:
  GpuClaims claims_;
  std::vector<SweepSlot> slots_;
};

std::string to_string(const SweepSlot& slot);  // "cpu:1 (4 cores: 4-7)"

}  // namespace spire
