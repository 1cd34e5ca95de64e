// bench.html: a report as one page that needs no network and no script.
#pragma once
#include <string>
#include <vector>

#include "engine/bench/page/bench_charts.h"
#include "engine/bench/report/bench_report.h"

namespace spire::inline bench {

// Returns a page in UTF-8 with charts as SVG for each scaling that ran, the tables of
// bench_table.h, their notes and the config. All tags are closed. Curves of `modelled` are dotted
// and called "model, not measured".
std::string bench_html(const BenchReport& report, const std::vector<ModelledPoint>& modelled = {});

}  // namespace spire::inline bench
