// The metrics of a run as Prometheus reads them, in its text format.
// (https://prometheus.io/docs/instrumenting/exposition_formats)
#pragma once
#include <optional>
#include <string>

#include "engine/observe/published_state.h"

namespace spire {

// Returns the page, with each metric that has a value. Every series has the label `job`, the name
// of the run's directory; those of devices also `rank` and `device`. Metrics of GPUs have the names
// and units of NVIDIA's DCGM exporter. Labels are UTF-8, as Prometheus refuses a page with others.
// free_bytes: of the output's disk.
std::string prometheus_text(const PublishedState& state, std::optional<double> free_bytes);

}  // namespace spire
