#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

#include "engine/observe/published_state.h"
#include "engine/observe/records.h"

namespace spire {
namespace {

using MetricKind = prometheus::MetricType;
using State = const PublishedState&;
using Device = const DeviceReport&;
using Value = std::optional<double>;
constexpr auto gauge = MetricKind::Gauge, counter = MetricKind::Counter;
constexpr double mib = 1 << 20;

// A member of an optional report, of any type that is a number.
Value number(const auto& report, auto member) {
  return report ? Value(static_cast<double>((*report).*member)) : std::nullopt;
}

Value number(const auto& value) {
  return value ? Value(static_cast<double>(*value)) : std::nullopt;
}

Value scaled(Value value, double factor) {
  return value ? Value(*value * factor) : std::nullopt;
}

double unix_seconds(PublishedState::Time time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

struct RunMetric {
  const char* name;
  const char* help;
  MetricKind kind;
  Value (*of)(State);
};

struct DeviceMetric {
  const char* name;
  const char* help;
  MetricKind kind;
  Value (*of)(Device);
};

std::span<const RunMetric> run_metrics() {
  using Step = StepReport;
  static constexpr auto table = std::to_array<RunMetric>({
      {"spire_start_timestamp_seconds", "When this process began the run, in Unix time.", gauge,
       [](State s) { return s.start ? Value(unix_seconds(s.start_at)) : std::nullopt; }},
      {"spire_step", "Optimizer steps done.", gauge,
       [](State s) { return number(s.step, &Step::step); }},
      {"spire_steps_planned", "Optimizer steps done when the run ends.", gauge,
       [](State s) { return number(s.step, &Step::total_steps); }},
      {"spire_epoch", "Epochs done, with their fraction.", gauge,
       [](State s) { return number(s.step, &Step::epoch); }},
      {"spire_samples_seen", "Training samples seen.", gauge,
       [](State s) { return number(s.step, &Step::samples_seen); }},
      {"spire_loss", "Loss of the last step's batch.", gauge,
       [](State s) { return number(s.step, &Step::loss); }},
      {"spire_epoch_loss", "Mean loss over this epoch's samples.", gauge,
       [](State s) { return number(s.step, &Step::epoch_loss); }},
      {"spire_learning_rate", "Learning rate of the last step.", gauge,
       [](State s) { return number(s.step, &Step::lr); }},
      {"spire_gradient_norm", "Norm of the whole gradient before clipping.", gauge,
       [](State s) { return number(s.step, &Step::grad_norm); }},
      {"spire_samples_per_second", "Training samples per second.", gauge,
       [](State s) { return number(s.step, &Step::samples_per_s); }},
      {"spire_step_seconds", "Time of the last step.", gauge,
       [](State s) { return scaled(number(s.step, &Step::step_ms), 1e-3); }},
      {"spire_data_wait_ratio", "Share of the last step spent waiting for data.", gauge,
       [](State s) { return number(s.step, &Step::data_wait); }},
      {"spire_communication_wait_ratio", "Share spent waiting for other devices' gradients.", gauge,
       [](State s) { return number(s.step, &Step::comm_wait); }},
      {"spire_eta_seconds", "Time until the run ends.", gauge,
       [](State s) { return number(s.step, &Step::eta_seconds); }},
      {"spire_last_step_timestamp_seconds", "When the last step ended, in Unix time.", gauge,
       [](State s) { return s.step ? Value(unix_seconds(s.step_at)) : std::nullopt; }},
      {"spire_bad_steps_total", "Steps that the guard has kept from the weights or undone.",
       counter, [](State s) { return number(s.step, &Step::bad_steps); }},
      {"spire_rollbacks_total", "Times the guard went back to a checkpoint.", counter,
       [](State s) { return number(s.step, &Step::rollbacks); }},
      {"spire_skipped_steps_total", "Steps skipped as fp16 gradients overflowed.", counter,
       [](State s) { return number(s.step, &Step::skipped_steps); }},
      {"spire_loss_scale", "Loss scale of fp16.", gauge,
       [](State s) {
         bool scales = s.step && s.step->loss_scale > 0;
         return scales ? Value(s.step->loss_scale) : std::nullopt;
       }},
      {"spire_eval_loss", "Loss of the last evaluation.", gauge,
       [](State s) { return number(s.eval, &EvalReport::loss); }},
      {"spire_eval_step", "Step of the last evaluation.", gauge,
       [](State s) { return number(s.eval, &EvalReport::step); }},
      {"spire_eval_seconds", "Time of the last evaluation.", gauge,
       [](State s) { return number(s.eval, &EvalReport::seconds); }},
      {"spire_checkpoints_total", "Checkpoints written by this process.", counter,
       [](State s) { return Value(static_cast<double>(s.checkpoints)); }},
      {"spire_checkpoint_step", "Step of the last checkpoint.", gauge,
       [](State s) { return number(s.checkpoint, &CheckpointReport::step); }},
      {"spire_checkpoint_bytes", "Size of the last checkpoint.", gauge,
       [](State s) { return number(s.checkpoint, &CheckpointReport::bytes); }},
      {"spire_checkpoint_write_seconds", "Time to write it.", gauge,
       [](State s) { return scaled(number(s.checkpoint, &CheckpointReport::write_ms), 1e-3); }},
      {"spire_checkpoint_snapshot_seconds", "Time for which training waited for it.", gauge,
       [](State s) { return scaled(number(s.checkpoint, &CheckpointReport::snapshot_ms), 1e-3); }},
      {"spire_checkpoint_timestamp_seconds", "When it was complete, in Unix time.", gauge,
       [](State s) { return s.checkpoint ? Value(unix_seconds(s.checkpoint_at)) : std::nullopt; }},
      {"spire_warnings_total", "Warnings of this process.", counter,
       [](State s) { return Value(static_cast<double>(s.warnings)); }},
  });
  return table;
}

// Of each device.
std::span<const DeviceMetric> device_metrics() {
  static constexpr auto table = std::to_array<DeviceMetric>({
      {"spire_device_arrival_seconds",
       "From the beginning of the step until the device's gradients were complete.", gauge,
       [](Device d) { return Value(d.arrival_ms / 1e3); }},
      {"spire_device_busy_ratio", "Share of time in which the device worked.", gauge,
       [](Device d) { return d.busy; }},
      {"spire_device_memory_used_bytes",
       "Memory in use: of a GPU by all processes; of a CPU device by the run's process, as a "
       "whole.",
       gauge, [](Device d) { return number(d.memory_used); }},
      {"spire_device_memory_total_bytes", "Memory that the device has.", gauge,
       [](Device d) { return number(d.memory_total); }},
      {"spire_device_link_sent_bytes_total", "Sent over NVLink since the driver was loaded.",
       counter, [](Device d) { return number(d.link_sent); }},
      {"spire_device_link_received_bytes_total", "Received over NVLink since then.", counter,
       [](Device d) { return number(d.link_received); }},
  });
  return table;
}

// Of each GPU, with names and units of DCGM: MiB (2^20 bytes), percent, watts, MHz.
// (NVIDIA/dcgm-exporter, etc/default-counters.csv)
std::span<const DeviceMetric> gpu_metrics() {
  static constexpr auto table = std::to_array<DeviceMetric>({
      {"DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", gauge,
       [](Device d) { return scaled(d.busy, 100); }},
      {"DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", gauge,
       [](Device d) { return scaled(number(d.memory_used), 1 / mib); }},
      {"DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", gauge,
       [](Device d) {
         bool known = d.memory_total && d.memory_used && *d.memory_total >= *d.memory_used;
         auto free = known ? *d.memory_total - *d.memory_used : 0;
         return known ? Value(static_cast<double>(free) / mib) : std::nullopt;
       }},
      {"DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", gauge,
       [](Device d) { return d.celsius; }},
      {"DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", gauge, [](Device d) { return d.watts; }},
      {"DCGM_FI_DEV_POWER_MGMT_LIMIT", "Power limit (in W).", gauge,
       [](Device d) { return d.limit_watts; }},
      {"DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", gauge,
       [](Device d) { return number(d.clock_mhz); }},
      {"DCGM_FI_DEV_MAX_SM_CLOCK", "Maximum SM clock frequency (in MHz).", gauge,
       [](Device d) { return number(d.max_clock_mhz); }},
      {"DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered; 0: none in this run.",
       gauge, [](Device d) { return Value(d.last_xid.value_or(0)); }},
      // A counter, but promtool wants "_total" in lower case behind a counter's name.
      {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Uncorrected ECC errors since the driver was loaded.",
       gauge, [](Device d) { return number(d.ecc_errors); }},
  });
  return table;
}

using Labels = std::vector<prometheus::ClientMetric::Label>;

// Families in the order of their first series, as the format wants each family's series together.
class MetricFamilies {
 public:
  explicit MetricFamilies(std::string job) : job_(std::move(job)) {}

  void add(const char* name, const char* help, MetricKind kind, std::optional<double> value,
           const Labels& labels = {}) {
    if (!value) return;
    prometheus::ClientMetric series;
    series.label = {{"job", job_}};
    series.label.insert(series.label.end(), labels.begin(), labels.end());
    for (auto& label : series.label) label.value = valid_utf8(label.value);
    (kind == MetricKind::Counter ? series.counter.value : series.gauge.value) = *value;
    family(name, help, kind).metric.push_back(std::move(series));
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  prometheus::MetricFamily& family(const char* name, const char* help, MetricKind kind) {
    auto found = std::ranges::find(families_, name, &prometheus::MetricFamily::name);
    if (found != families_.end()) return *found;
    families_.push_back({name, help, kind, {}});
    return families_.back();
  }

  std::string job_;
  std::vector<prometheus::MetricFamily> families_;
};

void add_run(const PublishedState& state, MetricFamilies& families) {
  const StartInfo& start = *state.start;
  families.add("spire_run_info", "Facts of the run; always 1.", MetricKind::Gauge, 1,
               {{"model", start.model},
                {"dataset", start.dataset},
                {"precision", start.precision},
                {"strategy", start.strategy},
                {"output", start.output}});
  for (const RunMetric& metric : run_metrics())
    families.add(metric.name, metric.help, metric.kind, metric.of(state));
}

void add_step_parts(const StepReport& step, MetricFamilies& families) {
  for (const StepPart& part : step_parts)
    families.add("spire_step_part_seconds", "Parts of the last step, which add up to it.",
                 MetricKind::Gauge, step.times.*part.seconds, {{"part", std::string(part.name)}});
}

void add_metric_values(const PublishedState& state, MetricFamilies& families) {
  auto add = [&](const char* name, const char* help, const MetricValue& value) {
    families.add(name, help, MetricKind::Gauge, value.value,
                 {{"metric", std::string(spire::to_string(value.metric))}});
  };
  if (state.step) add("spire_train_metric", "Metric of the last step's batch.", state.step->metric);
  if (state.eval) add("spire_eval_metric", "Metric of the last evaluation.", state.eval->metric);
  if (state.best)
    add("spire_eval_best_metric", "Best metric of this process's evaluations.", state.best->metric);
}

void add_devices(const PublishedState& state, MetricFamilies& families) {
  const std::vector<DeviceInfo>& infos = state.start->devices;
  std::vector<std::string> names = unique_device_names(*state.start);
  for (size_t d = 0; d < std::min(state.devices.size(), infos.size()); ++d) {
    const DeviceReport& device = state.devices[d];
    Labels labels = {{"rank", std::to_string(infos[d].rank)}, {"device", names[d]}};
    auto add_all = [&](std::span<const DeviceMetric> metrics) {
      for (const DeviceMetric& metric : metrics)
        families.add(metric.name, metric.help, metric.kind, metric.of(device), labels);
    };
    add_all(device_metrics());
    if (infos[d].name.starts_with("cuda")) add_all(gpu_metrics());
    for (const std::string& reason : device.throttle_reasons) {
      Labels with_reason = labels;
      with_reason.push_back({"reason", reason});
      families.add("spire_device_throttled", "1 for each reason why the clock is low now.",
                   MetricKind::Gauge, 1, with_reason);
    }
  }
}

}  // namespace

std::string prometheus_text(const PublishedState& state, std::optional<double> free_bytes) {
  if (!state.start) return "";
  MetricFamilies families(job_name(*state.start));
  add_run(state, families);
  if (state.step) add_step_parts(*state.step, families);
  add_metric_values(state, families);
  families.add("spire_output_free_bytes", "Free bytes of the disk with the run's directory.",
               MetricKind::Gauge, free_bytes);
  add_devices(state, families);
  return families.text();
}

}  // namespace spire
