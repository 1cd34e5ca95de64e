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

// What a process of a run says after it has looked for idle GPUs. Of the votes of several ranks the
// one that stands last here counts.
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

// If config.devices is auto:N, reduces hardware.gpus to N idle GPUs and claims them; else changes
// nothing. gpu_use.h says which GPU is idle; its use is watched for two seconds. Of the idle GPUs
// takes those with most free memory, of equals the first. While there are too few, none is claimed;
// config.timeouts.devices says how long to wait. Then takes fewer if config.on_missing allows it;
// with `any` adds the least loaded of the others. Throws Error(device) if too few are idle, or if
// NVML, which tells all this, cannot be used; Error(interrupted) if the wait was stopped, or if
// queue.longest, being shorter, has passed.
void keep_idle_gpus(const RunConfig& config, const GpuQueue& queue, const GpuMonitor& monitor,
                    RankHardware& hardware);

// Claims `count` of the GPUs that no other run has claimed, the least loaded first, and notes in
// hardware.use which GPUs others have claimed; keeps other runs from choosing meanwhile. Claims
// fewer or none if the files of claims cannot be opened or written.
void claim_least_loaded(RankHardware& hardware, int count, const GpuQueue& queue);

}  // namespace spire
