#include "engine/train/placement/idle_gpus.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/ranges.h>
#include <unistd.h>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/config/devices.h"

namespace spire::inline training {
namespace {

constexpr double free_share = 0.9;  // of an idle GPU's memory
constexpr int busy_percent = 10;    // mean utilisation from which a GPU is busy
constexpr int samples = 4;          // of utilisation, which counts the last second or less
constexpr double sample_seconds = 0.5, retry_seconds = 5, line_seconds = 60;

// A GPU that CUDA shows, as NVML sees it.
struct Candidate {
  const CudaDeviceInfo* gpu = nullptr;
  const HostGpu* host = nullptr;
  uint64_t free = 0;      // bytes
  int percent = 0;        // sum of the samples of utilisation
  std::string busy = {};  // why it is not idle
};

std::string name_of(const Candidate& candidate) {
  return fmt::format("cuda:{} ({})", candidate.gpu->index, candidate.busy);
}

// A MIG device is told by its UUID, as all of a GPU have its PCI bus id.
std::optional<GpuMemory> memory_of(const Candidate& candidate, const GpuState& state) {
  const auto& devices = candidate.host->mig_devices;
  auto mig = std::ranges::find(devices, candidate.gpu->uuid, &MigDevice::uuid);
  if (mig == devices.end()) return state.memory;
  auto index = static_cast<size_t>(mig - devices.begin());
  return index < state.mig_memory.size() ? state.mig_memory[index] : std::nullopt;
}

bool is_on(const GpuProcess& process, const Candidate& candidate) {
  const auto& devices = candidate.host->mig_devices;
  auto mig = std::ranges::find(devices, candidate.gpu->uuid, &MigDevice::uuid);
  return mig == devices.end() || !process.gpu_instance || !mig->gpu_instance ||
         (process.gpu_instance == mig->gpu_instance &&
          process.compute_instance == mig->compute_instance);
}

std::string process_problem(const Candidate& candidate, const GpuMonitor& monitor) {
  auto processes = monitor.processes(candidate.host->number);
  if (!processes) return "the driver does not tell which processes use it";
  for (const GpuProcess& process : *processes) {
    if (process.pid == ::getpid() || !is_on(process, candidate)) continue;
    return fmt::format("process {}{} computes", process.pid,
                       process.name.empty() ? "" : fmt::format(" ({})", process.name));
  }
  return "";
}

// Fills in all but the utilisation.
Candidate look_at(const CudaDeviceInfo& gpu, const GpuMonitor& monitor) {
  Candidate candidate{&gpu, monitor.find(gpu.pci_bus_id)};
  if (!candidate.host) {
    candidate.busy = "NVML does not list it";
    return candidate;
  }
  GpuState state = monitor.state(candidate.host->number);
  auto memory = memory_of(candidate, state);
  if (state.condition != GpuCondition::works) {
    candidate.busy = state.problem;
  } else if (!memory) {
    candidate.busy = "the driver does not tell how much of its memory is free";
  } else if (candidate.busy = process_problem(candidate, monitor); candidate.busy.empty()) {
    candidate.free = memory->free;
    if (static_cast<double>(memory->free) < free_share * static_cast<double>(memory->total))
      candidate.busy = fmt::format("{:.1f} of {:.1f} GiB are used",
                                   static_cast<double>(memory->total - memory->free) / (1 << 30),
                                   static_cast<double>(memory->total) / (1 << 30));
  }
  return candidate;
}

// Adds up the utilisation of all candidates that seem idle. Returns false to give up.
bool watch(std::vector<Candidate>& candidates, const GpuMonitor& monitor, const GpuQueue& queue) {
  for (int sample = 0; sample < samples; ++sample) {
    if (!queue.wait(sample_seconds)) return false;
    for (Candidate& candidate : candidates) {
      if (!candidate.busy.empty()) continue;
      candidate.percent += monitor.state(candidate.host->number).compute_percent.value_or(0);
    }
  }
  for (Candidate& candidate : candidates) {
    if (!candidate.busy.empty() || candidate.percent < busy_percent * samples) continue;
    candidate.busy = fmt::format("{} % used", candidate.percent / samples);
  }
  return true;
}

// Claims up to `count` of the idle ones; the rest of them are busy for whom has claimed them.
void claim(std::vector<Candidate*>& idle, GpuClaims& claims, size_t count) {
  std::vector<Candidate*> claimed;
  for (Candidate* candidate : idle) {
    if (claimed.size() == count) break;
    auto holder = claims.claim(candidate->gpu->uuid);
    if (holder) {
      candidate->busy = fmt::format("{} has claimed it", to_string(*holder));
    } else {
      claimed.push_back(candidate);
    }
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
  std::vector<std::string> busy;       // the others: "cuda:0 (process 4711 (python) computes)"
  bool stopped = false;                // the process was asked to stop
};

// Looks at all GPUs once and claims up to `count` idle ones.
IdleGpus look(const std::vector<CudaDeviceInfo>& gpus, const GpuMonitor& monitor,
              const GpuQueue& queue, int count) {
  std::vector<Candidate> candidates;
  for (const CudaDeviceInfo& gpu : gpus) candidates.push_back(look_at(gpu, monitor));
  IdleGpus found;
  found.stopped = !watch(candidates, monitor, queue);
  if (found.stopped) return found;
  std::vector<Candidate*> idle;
  for (Candidate& candidate : candidates)
    if (candidate.busy.empty()) idle.push_back(&candidate);
  std::ranges::stable_sort(idle, std::greater{}, &Candidate::free);
  {
    ClaimTurn turn(queue);
    claim(idle, queue.claims, static_cast<size_t>(count));
  }
  std::ranges::sort(idle, {}, [](const Candidate* candidate) { return candidate->gpu->index; });
  for (const Candidate* candidate : idle) found.chosen.push_back(*candidate->gpu);
  for (const Candidate& candidate : candidates)
    if (!candidate.busy.empty()) found.busy.push_back(name_of(candidate));
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
  hardware.gpus = std::move(found.chosen);
  auto idle = static_cast<int>(hardware.gpus.size());
  if (idle == *count) return;
  std::string problem =
      fmt::format("{} of {} idle, {}", idle, counted(*count, "GPU"), list_of(found.busy));
  if (idle == 0) hardware.why_no_gpu = problem;
  if (config.on_missing != RunConfig::OnMissing::fail) return;
  fail(Category::device,
       "devices: auto:{}: {}; set timeouts.devices to wait for them, or on_missing: fewer", *count,
       problem);
}

}  // namespace spire::inline training
