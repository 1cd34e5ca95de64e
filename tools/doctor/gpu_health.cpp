#include <algorithm>

#include <fmt/ranges.h>

#include "engine/base/text.h"
#include "engine/observe/formatting.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

std::string name_of(const HostGpu& gpu) {
  return gpu.name.empty() ? fmt::format("GPU {}", gpu.number)
                          : fmt::format("GPU {} ({})", gpu.number, gpu.name);
}

std::optional<Finding> sick(const GpuHealth& health) {
  const GpuState& state = health.state;
  std::string name = name_of(health.gpu);
  if (state.condition != GpuCondition::works) {
    std::string xid = state.last_xid ? fmt::format("; last error XID {}", *state.last_xid) : "";
    const char* word = state.condition == GpuCondition::lost ? "lost" : "failing";
    return Finding{"gpu_health", FindingLevel::fail, fmt::format("{} is {}{}", name, word, xid),
                   state.problem};
  }
  if (state.ecc_uncorrected.value_or(0) > 0)
    return Finding{"gpu_health", FindingLevel::fail,
                   fmt::format("{} has had {} that memory could not correct", name,
                               counted(static_cast<int64_t>(*state.ecc_uncorrected), "error")),
                   fmt::format("end its processes and type: nvidia-smi --gpu-reset -i {}; replace "
                               "the GPU if the errors come back",
                               health.gpu.number)};
  if (state.last_xid)
    return Finding{"gpu_health", FindingLevel::warn,
                   fmt::format("{} reported error XID {}", name, *state.last_xid),
                   "look it up in NVIDIA's list of XID errors; dmesg has the lines of the driver"};
  return std::nullopt;
}

bool harmless(ThrottleReason reason) {
  using enum ThrottleReason;
  return reason == idle || reason == power_cap || reason == sync_boost || reason == display_clock;
}

std::string remedy_for(ThrottleReason reason, int number) {
  using enum ThrottleReason;
  switch (reason) {
    case heat:
    case hardware_heat:
    case hardware_slowdown:
      return "check fans, filters and the room's temperature; a lower power limit helps, too "
             "(nvidia-smi -pl WATTS)";
    case clock_setting:
      return fmt::format("somebody has set its clocks; type: nvidia-smi -i {} -rac, and -rgc",
                         number);
    default:
      return "check its power supply and cables";
  }
}

std::optional<Finding> slow(const GpuHealth& health) {
  if (!health.state.throttle_reasons) return std::nullopt;
  std::vector<std::string> words;
  std::string remedy;
  for (ThrottleReason reason : *health.state.throttle_reasons) {
    if (harmless(reason)) continue;
    words.emplace_back(to_string(reason));
    if (remedy.empty()) remedy = remedy_for(reason, health.gpu.number);
  }
  if (words.empty()) return std::nullopt;
  std::string clocks;
  if (health.state.sm_mhz && health.state.max_sm_mhz)
    clocks = fmt::format(" at {} of {} MHz", *health.state.sm_mhz, *health.state.max_sm_mhz);
  std::string heat = health.state.celsius ? fmt::format(", {} °C", *health.state.celsius) : "";
  return Finding{"gpu_clocks", FindingLevel::warn,
                 fmt::format("{} is throttled{}{}: {}", name_of(health.gpu), clocks, heat,
                             fmt::join(words, ", ")),
                 std::move(remedy)};
}

std::optional<Finding> used(const GpuHealth& health) {
  if (!health.processes || health.processes->empty()) return std::nullopt;
  uint64_t bytes = 0;
  std::vector<std::string> names;
  for (const GpuProcess& process : *health.processes) {
    bytes += process.bytes.value_or(0);
    names.push_back(process.name.empty() ? std::to_string(process.pid)
                                         : fmt::format("{} {}", process.pid, process.name));
  }
  return Finding{
      "gpu_use", FindingLevel::warn,
      fmt::format("{} is used by {} with {}: {}", name_of(health.gpu),
                  counted(std::ssize(names), "process"), bytes_text(bytes), fmt::join(names, ", ")),
      "devices: auto:N chooses idle GPUs; trainer devices --watch shows who uses them"};
}

std::optional<Finding> split(const GpuHealth& health) {
  if (health.gpu.mig != true) return std::nullopt;
  auto parts = std::ssize(health.gpu.mig_devices);
  return Finding{
      "mig", FindingLevel::warn,
      fmt::format("{} is split by MIG into {}", name_of(health.gpu), counted(parts, "device")),
      fmt::format("a process sees one MIG device at most, and no other GPU beside it; "
                  "nvidia-smi -i {} -mig 0 ends the split",
                  health.gpu.number)};
}

// Findings of the GPUs that have one; else a single good one.
template <typename Check>
Findings each(const GpusOfHost& host, const char* topic, const char* good, const Check& check) {
  if (!host.why_none.empty()) return {{topic, FindingLevel::ok, "no GPU"}};
  Findings findings;
  for (const GpuHealth& health : host.gpus)
    if (auto finding = check(health)) findings.push_back(*finding);
  if (findings.empty())
    findings.push_back({topic, FindingLevel::ok,
                        fmt::format("{}: {}", counted(std::ssize(host.gpus), "GPU"), good)});
  return findings;
}

}  // namespace

Findings check_gpus(const GpusOfHost& host) {
  Findings findings = each(host, "gpu_health", "none has failed", sick);
  if (!host.why_none.empty()) findings[0].seen = host.why_none;
  append(findings, each(host, "gpu_clocks", "none is throttled", slow));
  append(findings, each(host, "gpu_use", "no other process computes on them", used));
  append(findings, each(host, "mig", "none is split", split));
  return findings;
}

}  // namespace spire
