// The charts of a report's page: speed, efficiency, parts of a step, memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/bench/report/bench_report.h"
#include "engine/page/svg_bars.h"
#include "engine/page/svg_lines.h"

namespace spire::inline bench {

// A speed that a model of the machine gives; nobody measured it.
struct ModelledPoint {
  Scaling scaling = Scaling::strong;
  int64_t devices = 1;
  double samples_per_s = 0;
  std::string label;  // "bf16, mirrored, InfiniBand 400 Gb/s": one curve for each
};

// samples/s over devices: measured, ideal (the first point's speed times devices), modelled.
LineChart speed_chart(const BenchReport& report, Scaling scaling,
                      const std::vector<ModelledPoint>& modelled);

// Speed of a device over that of one device; points without that are left out.
LineChart efficiency_chart(const BenchReport& report, Scaling scaling);

// One bar for each point that ran: ms of each part of a step, in the order of step_parts.
BarChart step_chart(const BenchReport& report, Scaling scaling);

// One bar for each point that ran: peak of each kind of memory of devices, with marks for what was
// planned and for the host's RSS.
BarChart memory_chart(const BenchReport& report, Scaling scaling);

}  // namespace spire::inline bench
