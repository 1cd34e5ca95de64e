// Visits the numbers that a run reports, under the names (tags) that metrics.jsonl and all other
// publishers use (docs/metrics.md).
#pragma once
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <spire/observer.h>

namespace spire {

// Names of the parts of a step's time (StepTimes); arithmetic on them follows.
struct StepPart {
  std::string_view name, tag;  // in summary.json, in metrics.jsonl
  double StepTimes::*seconds;
};
inline constexpr std::array<StepPart, 8> step_parts = {
    {{"data", "time/data_wait_ms", &StepTimes::data},
     {"copy", "time/copy_ms", &StepTimes::copy},
     {"forward", "time/forward_ms", &StepTimes::forward},
     {"backward", "time/backward_ms", &StepTimes::backward},
     {"reduce", "time/comm_wait_ms", &StepTimes::reduce},
     {"update", "time/update_ms", &StepTimes::update},
     {"replicate", "time/replicate_ms", &StepTimes::replicate},
     {"other", "time/other_ms", &StepTimes::other}}};

double total_of(const StepTimes& times);  // seconds of all parts
StepTimes& operator+=(StepTimes& sum, const StepTimes& times);
StepTimes operator*(StepTimes times, double factor);

// Returns all parts of a step, whose total is `seconds`. lanes: the parts that the lanes have
// measured, without `data` and `other`. waited: how long the host waited for the batch; since a GPU
// may work meanwhile, `data` is at most the time that the lanes' parts leave of the step. If the
// lanes' parts are longer than the step, because a GPU's clock differs, they are scaled down.
StepTimes complete_times(const StepTimes& lanes, double waited, double seconds);

// Gives each device a name that no other device of its process has: "cuda:0", then "cuda:0#2" for
// the second logical device of that GPU. Ask in the order of the run's devices.
class DeviceNames {
 public:
  std::string next(int rank, const std::string& device);

 private:
  std::map<std::pair<int, std::string>, int> counts_;
};

// Returns the name of each device of the run.
std::vector<std::string> unique_device_names(const StartInfo& start);

// Each visit_ function calls put(tag, number) for each number of a report except its time and step,
// in the order of the line in metrics.jsonl.

template <typename Put>
void visit_step(const StepReport& step, const Put& put) {
  put("epoch", step.epoch);
  put("samples_seen", step.samples_seen);
  put("train/loss", step.loss);
  put(fmt::format("train/{}", to_string(step.metric.metric)), step.metric.value);
  put("train/lr", step.lr);
  put("train/grad_norm", step.grad_norm);
  put("perf/samples_per_s", step.samples_per_s);
  put("perf/step_ms", step.step_ms);
  for (const StepPart& part : step_parts) put(part.tag, 1e3 * step.times.*part.seconds);
  if (step.loss_scale > 0) {  // fp16
    put("train/loss_scale", step.loss_scale);
    put("train/skipped_steps", step.skipped_steps);
  }
  if (step.bad_steps > 0) {  // the guard's
    put("train/bad_steps", step.bad_steps);
    put("train/rollbacks", step.rollbacks);
  }
}

// The caller adds the prefix of the tags, "device/".
template <typename Put>
void visit_device(const DeviceReport& device, const Put& put) {
  auto put_known = [&](const char* tag, const auto& number) {
    if (number) put(tag, *number);
  };
  put("arrival_ms", device.arrival_ms);
  if (device.data_ms > 0) put("data_ms", device.data_ms);
  if (device.lane_wait_ms > 0) put("lane_wait_ms", device.lane_wait_ms);
  put_known("busy", device.busy);
  put_known("memory_used_bytes", device.memory_used);
  put_known("memory_total_bytes", device.memory_total);
  put_known("celsius", device.celsius);
  put_known("watts", device.watts);
  put_known("clock_mhz", device.clock_mhz);
  put_known("others_cores", device.others_cores);
}

// data: val or test.
template <typename Put>
void visit_evaluation(const std::string& data, const EvalReport& eval, const Put& put) {
  put(data + "/loss", eval.loss);
  put(fmt::format("{}/{}", data, to_string(eval.metric.metric)), eval.metric.value);
  for (const MetricValue& other : eval.others)
    put(fmt::format("{}/{}", data, to_string(other.metric)), other.value);
  put(data + "/samples", eval.samples);
  put("time/eval_s", eval.seconds);
}

template <typename Put>
void visit_checkpoint(const CheckpointReport& checkpoint, const Put& put) {
  put("checkpoint/bytes", checkpoint.bytes);
  put("checkpoint/snapshot_ms", checkpoint.snapshot_ms);
  put("checkpoint/write_ms", checkpoint.write_ms);
}

}  // namespace spire
