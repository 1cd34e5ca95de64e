#include "engine/train/idle_gpus.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <unistd.h>

#include <spire/error.h>

#include "engine/base/message_words.h"

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
bool watch(std::vector<Candidate>& candidates, const GpuMonitor& monitor,
           const IdleGpuRequest& request) {
  for (int sample = 0; sample < samples; ++sample) {
    if (!request.wait(sample_seconds)) return false;
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

// One look at all GPUs. Returns those claimed, in the order of their numbers.
IdleGpus try_once(const std::vector<CudaDeviceInfo>& gpus, const GpuMonitor& monitor,
                  GpuClaims& claims, const IdleGpuRequest& request, bool& stopped) {
  std::vector<Candidate> candidates;
  for (const CudaDeviceInfo& gpu : gpus) candidates.push_back(look_at(gpu, monitor));
  stopped = !watch(candidates, monitor, request);
  std::vector<Candidate*> idle;
  for (Candidate& candidate : candidates)
    if (candidate.busy.empty()) idle.push_back(&candidate);
  std::ranges::stable_sort(idle, std::greater{}, &Candidate::free);
  claim(idle, claims, stopped ? 0 : static_cast<size_t>(request.count));
  std::ranges::sort(idle, {}, [](const Candidate* candidate) { return candidate->gpu->index; });
  IdleGpus found;
  for (const Candidate* candidate : idle) found.chosen.push_back(*candidate->gpu);
  for (const Candidate& candidate : candidates)
    if (!candidate.busy.empty()) found.busy.push_back(name_of(candidate));
  return found;
}

}  // namespace

// Two runs that each hold some of what both need would wait for each other, so a run that waits
// holds nothing.
IdleGpus claim_idle_gpus(const std::vector<CudaDeviceInfo>& gpus, const GpuMonitor& monitor,
                         GpuClaims& claims, const IdleGpuRequest& request) {
  if (!monitor.why_none().empty()) {
    fail(Category::device, "devices: auto:{}: cannot see which GPUs are idle: {}", request.count,
         monitor.why_none());
  }
  double waited = 0, said = -line_seconds;
  for (;;) {
    bool stopped = false;
    IdleGpus found = try_once(gpus, monitor, claims, request, stopped);
    waited += samples * sample_seconds;
    bool enough = static_cast<int>(found.chosen.size()) == request.count;
    if (enough || stopped || waited + retry_seconds > request.patience) return found;
    claims.release();
    if (waited - said >= line_seconds) {
      said = waited;
      request.say(fmt::format(
          "waits for {} (timeouts.devices: {:.0f} s, {:.0f} s so far); {} idle; busy: {}",
          counted(request.count, "idle GPU"), request.patience, waited, found.chosen.size(),
          fmt::join(found.busy, ", ")));
    }
    if (!request.wait(retry_seconds)) return {{}, found.busy};
    waited += retry_seconds;
  }
}

}  // namespace spire::inline training
