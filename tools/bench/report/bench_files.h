// A report as files for programs (docs/bench_files.md): bench.json, also for comparisons, and
// bench.csv.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "tools/bench/report/bench_report.h"

namespace spire {

// Returns indented JSON with a final newline. Numbers keep all digits; those that are not finite
// become null. Bytes that are not UTF-8 become U+FFFD. Memory of one kind is added up.
std::string bench_json(const BenchReport& report);

// The inverse. name: what messages call the text. Throws Error(config) that names the field
// ("points[2].rounds[0].joules") if the text is no report, is damaged or has another version;
// fields that it does not know are ignored.
BenchReport parse_bench_json(std::string_view text, std::string_view name);

// The same for one measurement, in one line, which a process that measures sends to the one that
// asked.
std::string measurement_json(const Measurement& measurement);
Measurement parse_measurement_json(std::string_view text, std::string_view name);

// Throw Error(config) with the file and the reason. The old file is replaced at once or stays.
void write_bench_json(const std::filesystem::path& path, const BenchReport& report);
BenchReport read_bench_json(const std::filesystem::path& path);

// Returns bench.csv, the rounds as a table for spreadsheets after RFC 4180: a heading and one line
// per round; a point that could not run has one line with its error and empty figures. Lines end
// with CR LF. Times are in seconds, memory in bytes, in one column for each kind that any round has
// (docs/bench_files.md).
std::string bench_csv(const BenchReport& report);

}  // namespace spire
