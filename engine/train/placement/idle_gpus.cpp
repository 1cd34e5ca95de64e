#include "engine/train/placement/idle_gpus.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/devices.h"
#include "engine/train/placement/gpu_use.h"

namespace spire {
namespace {

constexpr int samples = 4;  // of utilisation, which counts the last second or less
constexpr double sample_seconds = 0.5, retry_seconds = 5, line_seconds = 60;

struct Candidate {
  const CudaDeviceInfo* gpu = nullptr;
  GpuUse use = {};
  int percent = 0;  // sum of the samples of utilisation
};

std::string name_of(const Candidate& candidate) {
  return fmt::format("cuda:{} ({})", candidate.gpu->index, candidate.use.busy);
}

// Adds the mean utilisation of all candidates that seem idle. Returns false to give up.
bool watch(std::vector<Candidate>& candidates, const GpuMonitor& monitor, const GpuQueue& queue) {
  for (int sample = 0; sample < samples; ++sample) {
    if (!queue.wait(sample_seconds)) return false;
    for (Candidate& candidate : candidates)
      if (candidate.use.busy.empty()) candidate.percent += percent_of(*candidate.gpu, monitor);
  }
  for (Candidate& candidate : candidates)
    if (candidate.use.busy.empty()) add_percent(candidate.percent / samples, candidate.use);
  return true;
}

// Claims up to `count` of the idle GPUs. One that another run claims first is marked busy, with
// that run's name.
void claim(std::vector<Candidate*>& idle, GpuClaims& claims, size_t count) {
  std::vector<Candidate*> claimed;
  for (Candidate* candidate : idle) {
    if (claimed.size() == count) break;
    add_claim(*candidate->gpu, claims, candidate->use);
    if (candidate->use.busy.empty()) claimed.push_back(candidate);
  }
  idle = std::move(claimed);
}

// While it lives, no other run claims several GPUs: of two runs that want the same two, one gets
// both. It waits a second at most, and goes on without.
class ClaimTurn {
 public:
  explicit ClaimTurn(const GpuQueue& queue) : claims_(queue.claims) {
    for (int tries = 0; claims_.claim(name) && tries < 50; ++tries)
      if (!queue.wait(0.02)) return;
  }
  ~ClaimTurn() { claims_.release(name); }
  ClaimTurn(const ClaimTurn&) = delete;
  ClaimTurn& operator=(const ClaimTurn&) = delete;

 private:
  static constexpr const char* name = "choosing";
  GpuClaims& claims_;
};

struct IdleGpus {
  std::vector<CudaDeviceInfo> chosen;  // claimed, by number
  std::vector<CudaDeviceInfo> others;  // that work, the least loaded first
  std::vector<std::string> busy;       // the others: "cuda:0 (process 4711 (python) computes)"
  bool stopped = false;                // the process was asked to stop
};

void order_by_load(std::vector<Candidate*>& candidates) {
  std::ranges::stable_sort(candidates, is_less_loaded,
                           [](const Candidate* each) -> const GpuUse& { return each->use; });
}

// Looks at all GPUs once and claims up to `count` idle ones.
IdleGpus look(const std::vector<CudaDeviceInfo>& gpus, const GpuMonitor& monitor,
              const GpuQueue& queue, int count) {
  std::vector<Candidate> candidates;
  for (const CudaDeviceInfo& gpu : gpus) candidates.push_back({&gpu, look_at(gpu, monitor)});
  IdleGpus found;
  found.stopped = !watch(candidates, monitor, queue);
  if (found.stopped) return found;
  std::vector<Candidate*> idle;
  for (Candidate& candidate : candidates)
    if (candidate.use.busy.empty()) idle.push_back(&candidate);
  order_by_load(idle);
  {
    ClaimTurn turn(queue);
    claim(idle, queue.claims, static_cast<size_t>(count));
  }
  std::ranges::sort(idle, {}, [](const Candidate* candidate) { return candidate->gpu->index; });
  for (const Candidate* candidate : idle) found.chosen.push_back(*candidate->gpu);
  std::vector<Candidate*> others;
  for (Candidate& candidate : candidates) {
    if (candidate.use.busy.empty()) continue;
    found.busy.push_back(name_of(candidate));
    if (candidate.use.works) others.push_back(&candidate);
  }
  order_by_load(others);
  for (const Candidate* candidate : others) found.others.push_back(*candidate->gpu);
  return found;
}

std::string list_of(const std::vector<std::string>& busy) {
  return busy.empty() ? "there are no more" : fmt::format("busy: {}", fmt::join(busy, ", "));
}

// Two runs that each hold some of what both need would wait for each other, so a run that waits
// holds nothing, in none of its processes.
IdleGpus wait_for_idle(const std::vector<CudaDeviceInfo>& gpus, const GpuMonitor& monitor,
                       const GpuQueue& queue, int count, double patience) {
  double begin = queue.now(), end = begin + std::min(patience, queue.longest);
  double said = begin - line_seconds;
  for (;;) {
    IdleGpus found = look(gpus, monitor, queue, count);
    QueueVote own = found.stopped                        ? QueueVote::stopped
                    : std::ssize(found.chosen) == count  ? QueueVote::enough
                    : queue.now() + sample_seconds > end ? QueueVote::gives_up
                                                         : QueueVote::waits;
    QueueVote vote = queue.agree(own);
    if (vote == QueueVote::enough) return found;
    if (vote == QueueVote::gives_up) {
      if (queue.longest >= patience) return found;
      fail(Category::interrupted, "max_time is up while the run waited for idle GPUs");
    }
    queue.claims.release();
    if (vote == QueueVote::stopped)
      fail(Category::interrupted, "stopped while it waited for idle GPUs");
    if (queue.now() - said >= line_seconds) {
      said = queue.now();
      queue.say(fmt::format("waits for {} (timeouts.devices: {:.0f} s); {} idle, {}",
                            counted(count, "idle GPU"), patience, found.chosen.size(),
                            list_of(found.busy)));
    }
    queue.wait(std::clamp(end - queue.now(), 0.0, retry_seconds));  // the next look sees a stop
  }
}

// Adds the least loaded of the others, first of those that no other run claims, so that processes
// of one run take different ones.
void share_others(IdleGpus& found, GpuClaims& claims, int count) {
  auto take = [&](bool may_be_claimed) {
    std::erase_if(found.others, [&](const CudaDeviceInfo& gpu) {
      if (std::ssize(found.chosen) == count) return false;
      if (!may_be_claimed && claims.claim(gpu.uuid)) return false;
      found.chosen.push_back(gpu);
      return true;
    });
  };
  take(false);
  take(true);
  std::ranges::sort(found.chosen, {}, &CudaDeviceInfo::index);
}

}  // namespace

void keep_idle_gpus(const RunConfig& config, const GpuQueue& queue, const GpuMonitor& monitor,
                    RankHardware& hardware) {
  auto group = gpu_group(expand_devices(config.devices)[0]);
  if (!group || !group->idle) return;
  std::optional<int> count = group->count;
  if (hardware.gpus.empty()) {  // the other ranks take what they have
    queue.agree(QueueVote::gives_up);
    return;
  }
  if (!monitor.why_none().empty()) {
    fail(Category::device, "devices: auto:{}: cannot see which GPUs are idle: {}", *count,
         monitor.why_none());
  }
  IdleGpus found = wait_for_idle(hardware.gpus, monitor, queue, *count, config.timeouts.devices);
  auto idle = static_cast<int>(found.chosen.size());
  if (config.on_missing == RunConfig::OnMissing::any) share_others(found, queue.claims, *count);
  hardware.gpus = std::move(found.chosen);
  if (std::ssize(hardware.gpus) == *count) return;
  std::string problem =
      fmt::format("{} of {} idle, {}", idle, counted(*count, "GPU"), list_of(found.busy));
  if (hardware.gpus.empty()) hardware.why_no_gpu = problem;
  if (config.on_missing != RunConfig::OnMissing::fail) return;
  double waited = config.timeouts.devices;
  fail(Category::device,
       "devices: auto:{}: {}{} on_missing: fewer, or any, which takes the least loaded of the "
       "others",
       *count, problem,
       waited > 0 ? fmt::format(", after a wait of {:g} s; raise timeouts.devices, or set", waited)
                  : "; set timeouts.devices to wait for them, or");
}

void claim_least_loaded(RankHardware& hardware, int count, const GpuQueue& queue) {
  try {
    ClaimTurn turn(queue);
    int claimed = 0;
    for (int index : by_load(hardware)) {
      if (claimed == count) break;
      auto gpu = std::ranges::find(hardware.gpus, index, &CudaDeviceInfo::index);
      add_claim(*gpu, queue.claims, hardware.use[index]);
      claimed += queue.claims.has(gpu->uuid);
    }
  } catch (const Error&) {  // claim_gpus() in place_run.cpp warns of it
  }
}

}  // namespace spire
