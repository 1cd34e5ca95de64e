// Choice of idle GPUs on a host that others use, too (devices: auto:N).
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>

#include <spire/run_config.h>

#include "engine/base/steady_time.h"
#include "engine/device/gpu_claims.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "engine/train/placement/rank_hardware.h"

namespace spire {

// What a process of a run says after it has looked for idle GPUs. Of several the last one counts.
enum class QueueVote : uint8_t { enough, waits, gives_up, stopped };

// How a process gets its GPUs.
struct GpuQueue {
  GpuClaims& claims;                               // keeps other runs off the chosen GPUs
  std::function<bool(double seconds)> wait;        // sleeps; returns false to give up
  std::function<void(std::string_view line)> say;  // what the process waits for, once a minute
  std::function<double()> now = steady_seconds;    // the clock by which it waits
  double longest = std::numeric_limits<double>::infinity();  // max_time's rest, in seconds
  // Returns the vote that counts; collective. With several ranks none of them holds GPUs while
  // another one waits.
  std::function<QueueVote(QueueVote own)> agree = [](QueueVote own) { return own; };
};

// If config.devices is auto:N, leaves the N idle GPUs in hardware.gpus, claimed, and else changes
// nothing. gpu_use.h says which GPU is idle; it is watched for two seconds. Of the idle ones those
// with most free memory are chosen; of equals the first. As long as there are too few,
// none is claimed, and config.timeouts.devices says how long to wait. Then fewer are left if
// config.on_missing allows it; with `any` the least loaded of the others fill them up. Throws
// Error(device) if too few are idle or NVML, which tells all this, cannot be used;
// Error(interrupted) if the wait was stopped, or `longest` was shorter.
void keep_idle_gpus(const RunConfig& config, const GpuQueue& queue, const GpuMonitor& monitor,
                    RankHardware& hardware);

// Claims `count` of the GPUs that no other run has claimed, the least loaded first, while no other
// run chooses, and notes in hardware.use which ones others have claimed. Claims none, or fewer,
// where the files of claims cannot be opened or written.
void claim_least_loaded(RankHardware& hardware, int count, const GpuQueue& queue);

}  // namespace spire
