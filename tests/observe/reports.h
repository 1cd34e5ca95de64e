// Reports with known content for golden texts, and a clock that tests advance.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include <spire/observer.h>

#include "engine/observe/formatting.h"
#include "tests/base/folder.h"

namespace spire {

inline StartInfo sample_start() {
  StartInfo start;
  start.model = "cnn";
  start.dataset = "fashion_mnist";
  start.devices = {
      {"cpu:0", "2 cores: 0-1", 1, {{"weights", 1536}, {"gradients", 1536}, {"optimizer", 1536}}},
      {"cpu:1", "2 cores: 2-3", 1, {{"weights", 1536}, {"gradients", 1536}, {"comm", 1 << 20}}}};
  start.batch_size = 128;
  start.towers = 2;
  start.global_batch = 256;
  start.tower_threads = 1;
  start.parameters = 421642;
  start.train_samples = 60000;
  start.test_samples = 10000;
  start.steps_per_epoch = 235;
  start.total_steps = 2350;
  start.epochs = 10;
  start.strategy = "mirrored";
  start.reduction = "invariant";
  start.precision = "bf16";
  start.guarantee = "bit for bit on 1 or 2 devices of this kind";
  start.output = "runs/cnn";
  return start;
}

// Returns the same towers in two processes on two hosts.
inline StartInfo sample_start_of_two() {
  StartInfo start = sample_start();
  start.processes = 2;
  start.transport = "MPI (Open MPI v4.1.4)";
  for (int rank = 0; rank < 2; ++rank) {
    DeviceInfo& device = start.devices[static_cast<size_t>(rank)];
    device.name = "cpu:0";
    device.rank = rank;
    device.host = rank == 0 ? "anna" : "berta";
  }
  return start;
}

inline StepReport sample_step(int64_t step = 1200) {
  StepReport report;
  report.step = step;
  report.total_steps = 2350;
  report.epoch = 3.42;
  report.loss = 0.12345;
  report.metric = {Metric::accuracy, 0.912};
  report.epoch_loss = 0.2345;
  report.epoch_metric = {Metric::accuracy, 0.834};
  report.lr = 0.0942;
  report.grad_norm = 0.91;
  report.samples_per_s = 3912.4;
  report.step_ms = 65.4;
  report.data_wait = 0.02;
  report.comm_wait = 0.005;
  report.times = {.data = 0.00125,
                  .copy = 0,
                  .forward = 0.0165,
                  .backward = 0.033,
                  .reduce = 0.00025,
                  .update = 0.0085,
                  .replicate = 0.005,
                  .other = 0.001};
  report.samples_seen = step * 256;
  report.eta_seconds = 75;
  return report;
}

inline EvalReport sample_eval(int64_t step = 1200, bool best = true) {
  return {step, 3, 0.2501, {Metric::accuracy, 0.9132}, 10000, 1.23, best};
}

inline RunSummary sample_summary() {
  RunSummary summary;
  summary.steps = 2350;
  summary.epochs = 10;
  summary.train_loss = 0.1234;
  summary.val = {0.2211, {Metric::accuracy, 0.9255}, 0.9271, true};
  summary.samples_per_s = 3912.4;
  summary.times = {.forward = 0.016, .backward = 0.032, .update = 0.008, .other = 0.001};
  summary.parameter_hash = "0123456789abcdef";
  summary.devices = {"cpu:0", "cpu:1"};
  summary.towers = 2;
  summary.processes = 2;
  summary.strategy = "sharded";
  summary.seconds = 151.3;
  summary.peak_memory_bytes = {{"host_rss", 200 << 20}, {"arena", 44 << 20}};
  summary.planned_memory_bytes = {{"arena", 44 << 20}};
  summary.output = "runs/cnn";
  summary.checkpoint = "runs/cnn/checkpoints/step_00002350.h5";
  summary.metrics = "runs/cnn/metrics.jsonl";
  return summary;
}

// A clock that stands at 2026-01-31T12:00:00Z until it is advanced.
class ManualClock {
 public:
  WallClock function() {
    return [this] { return now_; };
  }
  void advance(double seconds) {
    now_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(
        std::chrono::duration<double>(seconds));
  }

 private:
  std::chrono::system_clock::time_point now_ = std::chrono::system_clock::from_time_t(1769860800);
};

// Steps whose devices arrive when a test says.
class MadeSteps {
 public:
  explicit MadeSteps(size_t count) : devices(count) {}

  // The next step. It is valid until the next call.
  StepReport at(std::initializer_list<double> arrivals_ms) {
    size_t d = 0;
    for (double arrival : arrivals_ms) devices.at(d++).arrival_ms = arrival;
    StepReport step = sample_step(++number_);
    step.step_ms = step_ms;
    step.devices = devices;
    return step;
  }

  std::vector<DeviceReport> devices;  // how they are from now on
  double step_ms = 100;

 private:
  int64_t number_ = 0;
};

// Of a run on two GPUs, with every value that can be published.
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
