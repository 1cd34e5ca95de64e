// A report as text for a terminal, and as tables of cells for other pages.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/observe/formatting.h"
#include "tools/bench/report/bench_report.h"

namespace spire {

// Tables with a heading and one row per point, in the report's order. The first variant_columns
// cells of a row name the variant; a figure that is not known is "-".
inline constexpr size_t variant_columns = 6;
struct BenchTables {
  TextTable speed;     // samples/s (median), its range over rounds, efficiency, FLOP/s, hash, ...
  TextTable step;      // ms per step and its parts
  TextTable memory;    // host RSS; peak of each kind and in all, planned in all
  TextTable ceilings;  // one row per number of devices; empty if none was measured
  // "same bits on every count: bf16 ✓"; what each point that could not run failed with.
  std::vector<std::string> notes;
};
BenchTables tables_of(const BenchReport& report);

// Returns facts of the run, the tables and the notes, in lines that end with a newline.
std::string table_text(const BenchReport& report);

// (title, fact): model, data, rounds, machine, version, date, command. Unknown ones are left out.
std::vector<std::pair<std::string, std::string>> facts_of(const BenchReport& report);

// Returns "✓" if a strong point has the hash of the first strong point of its kind of device and
// precision, "✗" if not; "" for weak points, with native reduction, and where there is
// nothing to compare.
std::string tick_of(const BenchReport& report, const Point& point);

}  // namespace spire
