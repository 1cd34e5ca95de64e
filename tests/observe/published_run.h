// Reports of a run on two GPUs, with every value that can be published.
#pragma once
#include <vector>

#include "engine/observe/published_state.h"
#include "tests/observe/reports.h"

namespace spire {

inline StartInfo gpu_start() {
  StartInfo start = sample_start();
  start.output = "runs/cnn";
  start.devices = {{"cuda:0", "NVIDIA H200", 1, {}}, {"cuda:1", "NVIDIA H200", 1, {}}};
  return start;
}

inline std::vector<DeviceReport> gpu_reports() {
  DeviceReport device;
  device.arrival_ms = 12.5;
  device.busy = 0.75;
  device.memory_used = uint64_t{3} << 30;
  device.memory_total = uint64_t{4} << 30;
  device.celsius = 65;
  device.watts = 250.5;
  device.limit_watts = 700;
  device.clock_mhz = 1980;
  device.max_clock_mhz = 2000;
  device.ecc_errors = 2;
  device.link_sent = 1000;
  device.link_received = 2000;
  device.last_xid = 79;
  DeviceReport other = device;
  other.arrival_ms = 25;
  other.throttle_reasons = {"heat", "power cap"};
  return {device, other};
}

// Calls the observer as a run does, up to a checkpoint.
inline void report_run(Observer& observer, const std::vector<DeviceReport>& devices) {
  observer.on_start(gpu_start());
  StepReport step = sample_step();
  step.devices = devices;
  step.loss_scale = 1024;
  step.bad_steps = 1;
  step.rollbacks = 1;
  observer.on_step(step);
  observer.on_eval(sample_eval());
  observer.on_warning("the disk is nearly full");
  observer.on_checkpoint({1200, "runs/cnn/checkpoints/step_00001200.h5", 5000, 4, 250});
}

}  // namespace spire
