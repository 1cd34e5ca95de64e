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

// What views.bench (engine/observe/page/views.js) draws: figures of the points that ran, by series
// (bench_series.h), and the tables of bench_table.h with their notes.
nlohmann::ordered_json bench_page_json(const BenchReport& report,
                                       std::vector<ModelledPoint> modelled = {});
std::string bench_html(const BenchReport& report, const std::vector<ModelledPoint>& modelled = {});

}  // namespace spire
