#include "engine/observe/prometheus/prometheus_metrics.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "engine/observe/job_name.h"
#include "engine/observe/prometheus/metric_tables.h"
#include "engine/observe/records.h"
#include "engine/observe/valid_utf8.h"

namespace spire {
namespace {

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
                 {{"metric", std::string(spire::name(value.metric))}});
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
