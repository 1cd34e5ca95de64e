#include "tools/bench/report/bench_series.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/config/words.h"

namespace spire {
namespace {

bool has_both_kinds(const BenchReport& report) {
  return std::ranges::any_of(report.points, [&](const Point& point) {
    return point.variant.kind != report.points.front().variant.kind;
  });
}

// Tells whether one number of devices ran in two different numbers of processes above 1.
bool splits_by_processes(const BenchReport& report) {
  using Group = std::tuple<Scaling, Kind, RunConfig::Precision, RunConfig::Strategy, int64_t>;
  std::set<Group> seen;
  return std::ranges::any_of(report.points, [&](const Point& point) {
    const Variant& v = point.variant;
    return v.processes > 1 &&
           !seen.insert({v.scaling, v.kind, v.precision, v.strategy, v.devices}).second;
  });
}

std::string label_of(const Variant& variant, bool with_kind, bool with_processes) {
  std::string label = fmt::format("{}, {}", word_of(variant.precision), word_of(variant.strategy));
  if (with_kind) label = fmt::format("{}, {}", word_of(variant.kind), label);
  if (variant.processes == 1) return label;
  return label + ", " +
         (with_processes ? counted(variant.processes, "process") : "several processes");
}

void add(std::vector<BenchSeries>& all, const Point& point, const std::string& label) {
  auto found = std::ranges::find_if(all, [&](const BenchSeries& series) {
    return series.scaling == point.variant.scaling && series.label == label;
  });
  if (found == all.end()) {
    all.push_back({point.variant.scaling, label, {&point}});
  } else {
    found->points.push_back(&point);
  }
}

}  // namespace

std::vector<BenchSeries> series_of(const BenchReport& report) {
  bool with_kind = has_both_kinds(report), with_processes = splits_by_processes(report);
  std::vector<BenchSeries> all;
  for (const Point& point : report.points)
    if (!point.rounds.empty()) add(all, point, label_of(point.variant, with_kind, with_processes));
  for (BenchSeries& series : all)
    std::ranges::stable_sort(series.points, {}, [](const Point* point) {
      return std::pair(point->variant.devices, point->variant.processes);
    });
  std::ranges::stable_sort(all, {}, &BenchSeries::scaling);
  return all;
}

}  // namespace spire
