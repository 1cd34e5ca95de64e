#include "engine/run/run_devices.h"

#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "engine/observe/records.h"
#include "engine/observe/verdict.h"

namespace spire {
namespace {

std::vector<DeviceLabel> labels_of(const Placement& placement) {
  std::vector<DeviceLabel> labels;
  DeviceNames names;
  for (const PlacedDevice& device : placement.devices) {
    std::string name = names.next(device.rank, to_string(device.id));
    if (placement.ranks > 1) name = fmt::format("rank {} {}", device.rank, name);
    labels.push_back({.name = name, .towers = device.towers.size(), .rank = device.rank});
  }
  return labels;
}

// The labels' names; empty for a logical device on a GPU that an earlier one is on.
std::vector<std::string> names_of_gpus(const Placement& placement,
                                       const std::vector<DeviceLabel>& labels) {
  std::vector<std::string> names;
  std::set<std::tuple<int, DeviceKind, int>> seen;
  for (size_t d = 0; d < labels.size(); ++d) {
    const PlacedDevice& device = placement.devices[d];
    bool first = seen.emplace(device.rank, device.id.kind, device.id.index).second;
    names.push_back(first ? labels[d].name : "");
  }
  return names;
}

}  // namespace

RunDevices::RunDevices(const RunContext& run)
    : run_(run),
      labels_(labels_of(run.setup.placement)),
      reports_(labels_.size()),
      history_(labels_.size()),
      stragglers_(labels_),
      health_(names_of_gpus(run.setup.placement, labels_)) {
  double every = run.setup.config.monitor.every_seconds;
  if (every == 0 || run.options.only_steps) return;
  monitor_ = watch_devices(run.setup.placement, run.setup.hardware(), every);
  run.trainer.set_monitor(monitor_.get());
}

RunDevices::~RunDevices() {
  run_.trainer.set_monitor(nullptr);
}

void RunDevices::take(const StepOutcome& result, StepReport& report) {
  report.devices = reports_.read(result.devices);
  for (const std::string& warning : health_.add(report.devices)) run_.observer.on_warning(warning);
  if (std::exchange(warm_, true)) {
    history_.add(report);
    if (std::string warning = stragglers_.add(report); !warning.empty())
      run_.observer.on_warning(warning);
  }
  if (!monitor_) return;
  for (const std::string& problem : monitor_->take_problems()) run_.observer.on_warning(problem);
}

std::vector<std::string> RunDevices::verdict(const StepTimes& times) const {
  const Placement& placement = run_.setup.placement;
  Share own = placement.devices_of(placement.rank);
  std::vector<WatchedDevice> watched = watched_devices(placement, run_.setup.hardware());
  int threads = 0;  // none that compute on GPUs, which have no cores either
  for (const WatchedDevice& device : watched) threads += device.threads;
  return spire::verdict({.times = times,
                         .data_workers = run_.setup.config.data.workers,
                         .labels = labels_,
                         .first = static_cast<size_t>(own.begin),
                         .end = static_cast<size_t>(own.end),
                         .threads = threads,
                         .cores = static_cast<int>(cores_of(watched).size())},
                        history_);
}

}  // namespace spire
