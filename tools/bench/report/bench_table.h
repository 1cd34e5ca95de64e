// Turns a report into text for a terminal and into tables for pages. Tables, charts and comparisons
// all write figures by these functions.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/observe/formatting.h"
#include "tools/bench/report/bench_report.h"

namespace spire {

// At least three significant digits: 0.0123, 0.123, 1.234, 12.34, 123.4, "12 346", from 1e15 on
// 1.234e+15; 0 is "0". "-" if not finite.
std::string figure_text(double value);
std::string ms_text(double seconds);              // 0.01234 -> "12.34"
std::string scaled_text(double per_s);            // 1.234e12 -> "1.234 T"
std::string share_text(double share);             // 0.9271 -> "92.7%"
std::string range_text(double low, double high);  // "11 900 to 12 500"

template <typename Text>
std::string if_known(const std::optional<double>& value, Text text) {
  return value ? text(*value) : "-";
}

// Each table except `ceilings` has a heading and one row per point, in the report's order. The
// first variant_columns cells of a row name the variant. A figure that is not known is "-"; the row
// of a point that failed has one more cell, "failed".
inline constexpr size_t variant_columns = 6;
struct BenchTables {
  TextTable speed;     // samples/s (median), its range over rounds, efficiency, FLOP/s, hash, ...
  TextTable step;      // ms per step and its parts
  TextTable memory;    // host RSS; peak of each kind and in all, planned in all
  TextTable ceilings;  // one row per number of devices; empty if none was measured
  // Whether all counts gave the same bits, e.g. "same bits on every count: bf16 ✓"; how much other
  // programs used the cores; the error of each point that failed.
  std::vector<std::string> notes;
};
BenchTables tables_of(const BenchReport& report);

// Returns facts of the run, the tables and the notes, in lines that end with a newline.
std::string table_text(const BenchReport& report);

// (title, fact): model, data, timing, machine and what its kernels use, energy, GPUs, version,
// date, command. Facts that are unknown are left out.
std::vector<std::pair<std::string, std::string>> facts_of(const BenchReport& report);

}  // namespace spire
