// bench.json: a report as JSON, for programs and for comparisons (docs/bench_files.md).
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

}  // namespace spire
