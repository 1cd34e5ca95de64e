// Points of a report that make one curve: equal but for the number of devices.
#pragma once
#include <string>
#include <vector>

#include "tools/bench/report/bench_report.h"

namespace spire {

struct BenchSeries {
  Scaling scaling = Scaling::strong;
  std::string label;                 // "bf16, mirrored"; series of both scalings share it
  std::vector<const Point*> points;  // of the report, that ran; devices and processes ascend
};

// Returns the series, strong ones first, in order of their first point. Points in one process and
// points in several are different series; the latter are split by the number of processes where a
// number of devices ran with several.
std::vector<BenchSeries> series_of(const BenchReport& report);

}  // namespace spire
