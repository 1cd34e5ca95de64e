// bench.csv: the rounds of a report as a table for spreadsheets, after RFC 4180.
#pragma once
#include <string>

#include "tools/bench/report/bench_report.h"

namespace spire {

// Returns a heading and one line per round; a point that could not run has one line with its error
// and empty figures. Lines end with CR LF. Times are in seconds, memory in bytes, in one column for
// each kind that any round has (docs/bench_files.md).
std::string bench_csv(const BenchReport& report);

}  // namespace spire
