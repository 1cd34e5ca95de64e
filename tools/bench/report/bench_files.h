// A report as files (docs/bench_files.md): bench.json, also for comparisons, bench.csv, and
// bench.html, which people look at.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/bench/report/bench_report.h"

namespace spire {

// Returns indented JSON with a final newline. Numbers keep all digits; those that are not finite
// become null. Bytes that are not UTF-8 become U+FFFD.
std::string bench_json(const BenchReport& report);

// Reads the text of bench_json(). name: what messages call the text. Throws Error(config) that
// names the field ("points[2].rounds[0].joules") if the text is no report, is damaged or has
// another version; fields that it does not know are ignored.
BenchReport parse_bench_json(std::string_view text, std::string_view name);

// The same for one measurement, in one line, which a process that measures sends to the one that
// asked.
std::string measurement_json(const Measurement& measurement);
Measurement parse_measurement_json(std::string_view text, std::string_view name);

// Throw Error(config) with the file and the reason. A write replaces the old file as a whole, or
// leaves it as it was.
void write_bench_json(const std::filesystem::path& path, const BenchReport& report);
BenchReport read_bench_json(const std::filesystem::path& path);

// Returns bench.csv, the rounds as a table for spreadsheets after RFC 4180: a heading and one line
// per round; a point that could not run has one line with its error and empty figures. Lines end
// with CR LF. Times are in seconds, memory in bytes, in one column for each kind that any round has
// (docs/bench_files.md).
std::string bench_csv(const BenchReport& report);

// A speed that a model of the machine gives; nobody measured it.
struct ModelledPoint {
  Scaling scaling = Scaling::strong;
  int64_t devices = 1;
  double samples_per_s = 0;
  std::string label;  // "bf16, mirrored, InfiniBand 400 Gb/s": one curve for each
};

// Points of a report that make one curve: equal except for the number of devices (and processes).
struct BenchSeries {
  Scaling scaling = Scaling::strong;
  std::string label;                 // "bf16, mirrored"; series of both scalings share it
  std::vector<const Point*> points;  // of the report, that ran; devices and processes ascend
};

// Returns the series, strong ones first, in order of their first point. Points in one process and
// points in several processes are different series. The latter share one series, unless a number of
// devices ran in several numbers of processes: then each number of processes has its own.
std::vector<BenchSeries> series_of(const BenchReport& report);

// What views.bench (engine/observe/page/bench.js) draws: figures of the points that ran, by series,
// and the tables of bench_table.h with their notes.
nlohmann::ordered_json bench_page_json(const BenchReport& report,
                                       std::vector<ModelledPoint> modelled = {});
std::string bench_html(const BenchReport& report, const std::vector<ModelledPoint>& modelled = {});

}  // namespace spire
