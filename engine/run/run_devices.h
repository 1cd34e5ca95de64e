// The devices of a run as its step loop sees them: their reports in each step, warnings about one
// that is slow or fails, and the verdict at the end.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <spire/observer.h>

#include "engine/observe/device_history.h"
#include "engine/observe/device_watch.h"
#include "engine/run/run_context.h"
#include "engine/train/monitor/device_monitor.h"

namespace spire {

// Used on the leading lane's thread only.
class RunDevices {
 public:
  // Starts the monitor of this process's devices, whose readings the reports of steps then have;
  // not if monitor.every_seconds is 0 or with RunOptions::only_steps. Throws what start_thread()
  // throws.
  explicit RunDevices(const RunContext& run);
  ~RunDevices();
  RunDevices(const RunDevices&) = delete;
  RunDevices& operator=(const RunDevices&) = delete;

  // Fills in report.devices, valid until the next call, and warns. Call it after each step.
  void take(const StepOutcome& result, StepReport& report);

  // times: RunSummary::times.
  std::vector<std::string> verdict(const StepTimes& times) const;

 private:
  const RunContext& run_;
  const std::vector<DeviceLabel> labels_;
  DeviceReports reports_;
  DeviceHistory history_;  // without the first step, which warms up
  StragglerWatch stragglers_;
  HealthWatch health_;
  bool warm_ = false;
  std::unique_ptr<DeviceMonitor> monitor_;  // null: none
};

}  // namespace spire
