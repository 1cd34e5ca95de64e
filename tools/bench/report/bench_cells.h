// Figures of a benchmark as short texts, the same in tables, charts and comparisons.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

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

}  // namespace spire
