#include "tools/train/restart_state.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <sys/stat.h>
#include <utility>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/config/devices.h"
#include "engine/run/run_directory.h"
#include "engine/train/placement/rank_hardware.h"

namespace spire {

namespace {

using Gpus = std::vector<CudaDeviceInfo>;

constexpr std::chrono::seconds probe_time{60};

// Returns the GPUs that are not among `lost`. By uuid: indices depend on CUDA_DEVICE_ORDER.
Gpus without(Gpus gpus, const Gpus& lost) {
  std::erase_if(gpus, [&](const CudaDeviceInfo& gpu) {
    return std::ranges::find(lost, gpu.uuid, &CudaDeviceInfo::uuid) != lost.end();
  });
  return gpus;
}

// Returns the name of a config's GPU where CUDA shows only `left`; nothing for one that is lost.
std::optional<std::string> renamed(const std::string& word, const Gpus& left) {
  LimitedDevice named = split_limit(word);
  std::vector<DeviceId> found = named_gpus(named.name, left);
  if (found.empty()) return {};
  auto gpu = std::ranges::find(left, found[0].index, &CudaDeviceInfo::index);
  return to_word({fmt::format("cuda:{}", gpu - left.begin()), named.limit});
}

// Tests GPUs, each in a child process (trainer devices --probe), and returns those that fail: also
// those whose process has not ended after probe_time.
Gpus failing(const Gpus& gpus, BlockedSignals& signals) {
  std::list<std::pair<CudaDeviceInfo, ChildProcess>> probes;
  for (const CudaDeviceInfo& gpu : gpus) {
    ChildSetup setup{.words = {"devices", "--probe"},
                     .variables = {{"CUDA_VISIBLE_DEVICES", gpu.uuid}},
                     .signal_mask = signals.mask_before(),
                     .silent = true};
    probes.emplace_back(gpu, ChildProcess(std::move(setup)));
  }
  auto deadline = BlockedSignals::Deadline::clock::now() + probe_time;
  for (;;) {
    std::erase_if(probes, [](auto& probe) {
      auto status = probe.second.try_wait();
      return status && status->good();
    });
    bool ended = std::ranges::none_of(probes, [](auto& probe) { return probe.second.running(); });
    auto number = ended ? std::nullopt : signals.wait(deadline);
    if (!number) break;
    if (*number == SIGCHLD || *number == SIGTSTP) continue;
    fail(Category::interrupted, "stopped by a signal while the GPUs were tried");
  }
  Gpus failed;
  for (const auto& probe : probes) failed.push_back(probe.first);
  return failed;
}

}  // namespace

bool may_use_gpus(const RunConfig& config) {
  std::vector<std::string> words = expand_devices(config.devices);
  return words.front() == "auto" || are_gpus(words);
}

GpuChoice leave_out(const Gpus& gpus, const Gpus& lost, const RunConfig& config) {
  Gpus left = without(gpus, lost);
  // CUDA numbers the GPUs of CUDA_VISIBLE_DEVICES from 0, so the config's names get new numbers.
  std::vector<std::string> devices, uuids;
  std::vector<std::string> words = expand_devices(config.devices);
  for (const std::string& word : words) {
    if (!names_gpu(split_limit(word).name)) continue;
    if (auto name = renamed(word, left)) devices.push_back(*name);
  }
  bool names = names_gpu(split_limit(words.front()).name);
  std::optional<GpuGroup> group = gpu_group(words.front());
  GpuChoice choice;
  choice.left = static_cast<int>(names ? devices.size() : left.size());
  if (left.size() == gpus.size() || choice.left == 0) return choice;
  for (const CudaDeviceInfo& gpu : left) uuids.push_back(gpu.uuid);
  choice.variables = {{"CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(uuids, ","))}};
  if (names) choice.words.push_back(fmt::format("devices=[{}]", fmt::join(devices, ", ")));
  if (group && group->count && *group->count > choice.left)
    choice.words.push_back(group->idle ? fmt::format("devices=auto:{}", choice.left)
                                       : fmt::format("devices={}xcuda", choice.left));
  if (names_gpu(config.parameter_device)) {
    choice.words.push_back(fmt::format("parameter_device={}",
                                       renamed(config.parameter_device, left).value_or("auto")));
  }
  return choice;
}

GpuRoster::GpuRoster(const RunConfig& config, Gpus gpus)
    : config_(config), gpus_(std::move(gpus)), choice_(leave_out(gpus_, {}, config)) {}

Gpus GpuRoster::find_lost(BlockedSignals& signals) {
  Gpus left = without(gpus_, lost_);
  Gpus found = failing(left, signals);
  // All of them failing is no fault of one GPU: the driver is gone, and the run says so.
  if (found.size() == left.size()) return {};
  lost_.insert(lost_.end(), found.begin(), found.end());
  choice_ = leave_out(gpus_, lost_, config_);
  return found;
}

RunDirState::RunDirState(std::filesystem::path output)
    : output_(std::move(output)), was_empty_(!holds_something(output_)), before_(config_stamp()) {}

// A run writes config.yaml first of all, right after it has locked the directory.
bool RunDirState::begun() const {
  return was_empty_ || config_stamp() != before_;
}

bool RunDirState::has_checkpoint() const {
  return spire::has_checkpoint(output_);
}

// A file that is written again has another inode or time.
std::optional<RunDirState::Stamp> RunDirState::config_stamp() const {
  struct stat status = {};
  if (stat((output_ / "config.yaml").c_str(), &status) != 0) return {};
  return Stamp{static_cast<int64_t>(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

ResumeOptions options_for_restart(const ResumeOptions& given, const RunDirState& state) {
  if (!state.begun()) return given;
  // A branch resumes from another directory until it has a checkpoint here.
  bool branch = given.resume && *given.resume != "auto";
  if (branch && !state.has_checkpoint()) return {given.resume, true};
  return {"auto", false};
}

}  // namespace spire
