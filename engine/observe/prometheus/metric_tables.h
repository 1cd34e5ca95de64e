// Tables of the metrics for Prometheus: name, help and kind of each, and how its value is found.
#pragma once
#include <optional>
#include <span>

#include <prometheus/metric_type.h>

#include "engine/observe/latest_state.h"

namespace spire {

using MetricKind = prometheus::MetricType;

struct RunMetric {
  const char* name;
  const char* help;
  MetricKind kind;
  std::optional<double> (*of)(const PublishedState&);
};
std::span<const RunMetric> run_metrics();

struct DeviceMetric {
  const char* name;
  const char* help;
  MetricKind kind;
  std::optional<double> (*of)(const DeviceReport&);
};
std::span<const DeviceMetric> device_metrics();  // of each device
// Of each GPU, with names and units of DCGM: MiB (2^20 bytes), percent, watts, MHz.
// (NVIDIA/dcgm-exporter, etc/default-counters.csv)
std::span<const DeviceMetric> gpu_metrics();

}  // namespace spire
