#include "tools/supervisor/gpu_roster.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <sys/wait.h>

#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/config/devices.h"

namespace spire::tool {

namespace {

constexpr std::chrono::seconds probe_time{60};

bool contains(const std::vector<CudaDeviceInfo>& gpus, const CudaDeviceInfo& gpu) {
  return std::ranges::find(gpus, gpu.uuid, &CudaDeviceInfo::uuid) != gpus.end();
}

// Returns the name of a config's GPU where CUDA shows only `left`; nothing for one that is lost.
std::optional<std::string> renamed(const std::string& word,
                                   const std::vector<CudaDeviceInfo>& left) {
  DeviceId device = parse_device(word);
  auto found = std::ranges::find(left, device.index, &CudaDeviceInfo::index);
  if (found == left.end()) return {};
  return fmt::format("cuda:{}", found - left.begin());
}

bool names_gpu(const std::string& word) {
  return word.starts_with("cuda:");
}

// Tests of GPUs, one child process each (trainer devices --probe).
class Probes {
 public:
  Probes(const std::vector<CudaDeviceInfo>& gpus, const sigset_t& mask)
      : failed_(gpus.size(), true) {
    for (const CudaDeviceInfo& gpu : gpus) {
      children_.emplace_back(ChildSetup{.words = {"devices", "--probe"},
                                        .variables = {{"CUDA_VISIBLE_DEVICES", gpu.uuid}},
                                        .signal_mask = mask,
                                        .silent = true});
    }
  }

  // Returns which GPUs failed: also those whose process has not ended by the deadline.
  std::vector<bool> wait(BlockedSignals& signals) {
    auto deadline = BlockedSignals::Deadline::clock::now() + probe_time;
    for (collect_ended(); running_ > 0; collect_ended()) {
      auto number = signals.wait(deadline);
      if (!number) break;
      if (*number == SIGCHLD || *number == SIGTSTP) continue;
      fail(Category::interrupted, "stopped by a signal while the GPUs were tried");
    }
    return failed_;
  }

 private:
  void collect_ended() {
    running_ = 0;
    for (size_t i = 0; i < children_.size(); ++i) {
      if (auto status = children_[i].try_wait())
        failed_[i] = !WIFEXITED(*status) || WEXITSTATUS(*status) != 0;
      running_ += children_[i].running();
    }
  }

  std::vector<ChildProcess> children_;
  std::vector<bool> failed_;
  int running_ = 0;
};

}  // namespace

bool may_use_gpus(const RunConfig& config) {
  std::string first = expand_devices(config.devices).front();
  return first == "auto" || first == "cuda" || names_gpu(first);
}

GpuChoice leave_out(const std::vector<CudaDeviceInfo>& gpus,
                    const std::vector<CudaDeviceInfo>& lost, const RunConfig& config) {
  std::vector<CudaDeviceInfo> left;
  std::ranges::copy_if(gpus, std::back_inserter(left),
                       [&](const CudaDeviceInfo& gpu) { return !contains(lost, gpu); });
  // CUDA renumbers the remaining GPUs, so the config's names get new numbers.
  std::vector<std::string> devices, uuids;
  for (const std::string& word : expand_devices(config.devices)) {
    if (!names_gpu(word)) continue;
    if (auto name = renamed(word, left)) devices.push_back(*name);
  }
  bool names = names_gpu(expand_devices(config.devices).front());
  GpuChoice choice;
  choice.left = static_cast<int>(names ? devices.size() : left.size());
  if (left.size() == gpus.size() || choice.left == 0) return choice;
  // By uuid: indices depend on CUDA_DEVICE_ORDER.
  for (const CudaDeviceInfo& gpu : left) uuids.push_back(gpu.uuid);
  choice.variables = {{"CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(uuids, ","))}};
  if (names) choice.words.push_back(fmt::format("devices=[{}]", fmt::join(devices, ", ")));
  if (names_gpu(config.parameter_device)) {
    choice.words.push_back(fmt::format("parameter_device={}",
                                       renamed(config.parameter_device, left).value_or("auto")));
  }
  return choice;
}

GpuRoster::GpuRoster(const RunConfig& config, std::vector<CudaDeviceInfo> gpus)
    : config_(config), gpus_(std::move(gpus)), choice_(leave_out(gpus_, {}, config)) {}

std::vector<CudaDeviceInfo> GpuRoster::find_lost(BlockedSignals& signals) {
  std::vector<CudaDeviceInfo> left, found;
  std::ranges::copy_if(gpus_, std::back_inserter(left),
                       [&](const CudaDeviceInfo& gpu) { return !contains(lost_, gpu); });
  std::vector<bool> failed = Probes(left, signals.mask_before()).wait(signals);
  for (size_t i = 0; i < left.size(); ++i) {
    if (failed[i]) found.push_back(left[i]);
  }
  // All of them failing is no fault of one GPU: the driver is gone, and the run says so.
  if (found.size() == left.size()) return {};
  lost_.insert(lost_.end(), found.begin(), found.end());
  choice_ = leave_out(gpus_, lost_, config_);
  return found;
}

}  // namespace spire::tool
