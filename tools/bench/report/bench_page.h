// bench.html: a report as one page.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/bench/report/bench_report.h"

namespace spire {

// A speed that a model of the machine gives; nobody measured it.
struct ModelledPoint {
  Scaling scaling = Scaling::strong;
  int64_t devices = 1;
  double samples_per_s = 0;
  std::string label;  // "bf16, mirrored, InfiniBand 400 Gb/s": one curve for each
};

// Points of a report that make one curve: equal but for the number of devices.
struct BenchSeries {
  Scaling scaling = Scaling::strong;
  std::string label;                 // "bf16, mirrored"; series of both scalings share it
  std::vector<const Point*> points;  // of the report, that ran; devices and processes ascend
};

// Returns the series, strong ones first, in order of their first point. Points in one process and
// points in several are different series; the latter are split by the number of processes where a
// number of devices ran with several.
std::vector<BenchSeries> series_of(const BenchReport& report);

// What views.bench (engine/observe/page/bench.js) draws: figures of the points that ran, by series,
// and the tables of bench_table.h with their notes.
nlohmann::ordered_json bench_page_json(const BenchReport& report,
                                       std::vector<ModelledPoint> modelled = {});
std::string bench_html(const BenchReport& report, const std::vector<ModelledPoint>& modelled = {});

}  // namespace spire
