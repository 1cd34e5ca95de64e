// Compares two reports: which points became faster or slower by more than their rounds vary.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/report/bench_report.h"

namespace spire {

struct SpeedRatio {
  double medians = 0;
  double smallest = 0, largest = 0;  // over all pairs of one round of each report
};

// Ratios of the second report to the first for one variant; speeds are samples/s.
struct PointRatios {
  Variant variant;
  size_t rounds = 0;                         // of the report that has fewer
  std::optional<SpeedRatio> speed;           // none where a round has a speed of 0
  std::optional<double> rss, device_memory;  // of the peaks; none where one is not known
};

struct ReportComparison {
  std::vector<std::string> differences =
      {};                                // "batch size: 128 and 64"; these make ratios doubtful
  std::vector<PointRatios> points = {};  // variants that ran in both, in order of the first report
  std::vector<Variant> only_first = {}, only_second = {};  // variants that ran in one of them
};

ReportComparison compared(const BenchReport& first, const BenchReport& second);

// Returns "faster" or "slower", if all pairs of rounds agree, else "within the spread"; with a
// single round on a side, or a speed of 0, says so instead.
std::string verdict_of(const PointRatios& ratios);

// Returns the comparison as text: the reports A (first) and B, warnings, a table of ratios B/A, and
// what only one of them has. Lines end with a newline.
std::string compare_reports(const BenchReport& first, const BenchReport& second);

}  // namespace spire
