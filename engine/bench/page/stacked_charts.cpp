// Parts of a step and of memory, as stacked bars.
#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include <spire/text.h>

#include "engine/bench/page/bench_charts.h"
#include "engine/bench/page/bench_series.h"
#include "engine/bench/report/bench_cells.h"
#include "engine/bench/report/rounds.h"
#include "engine/observe/formatting.h"
#include "engine/observe/step_times.h"

namespace spire::inline bench {
namespace {

std::string bar_label(const Variant& variant) {
  std::string devices = counted(variant.devices, "device");
  if (variant.processes == 1) return devices;
  return fmt::format("{}, {}", devices, counted(variant.processes, "process"));
}

// Calls `add(bar, point)` for each point of one scaling that ran, by series.
template <typename Add>
std::vector<StackedBar> bars_of(const BenchReport& report, Scaling scaling, Add add) {
  std::vector<StackedBar> bars;
  for (const BenchSeries& series : series_of(report)) {
    if (series.scaling != scaling) continue;
    for (const Point* point : series.points) {
      bars.push_back({.group = series.label, .label = bar_label(point->variant)});
      add(bars.back(), *point);
    }
  }
  return bars;
}

// The largest unit in which the largest amount is at least 1.
struct ByteUnit {
  const char* name = "B";
  double bytes = 1;
};

ByteUnit unit_for(int64_t largest) {
  ByteUnit unit;
  for (const char* name : {"KiB", "MiB", "GiB", "TiB"}) {
    if (static_cast<double>(largest) < 1024 * unit.bytes) break;
    unit = {name, 1024 * unit.bytes};
  }
  return unit;
}

int64_t largest_amount(const BenchReport& report) {
  int64_t largest = 0;
  for (const Point& point : report.points) {
    PointMemory memory = memory_of(point);
    largest =
        std::max({largest, memory.rss, total_bytes(memory.peak), total_bytes(memory.planned)});
  }
  return largest;
}

// Of svg_marks.h, one per part in the order of step_parts.
const std::vector<int> part_colours = {4, 6, 0, 5, 1, 2, 3, 7};

}  // namespace

BarChart step_chart(const BenchReport& report, Scaling scaling) {
  BarChart chart{.title = "Time of a step",
                 .description = "Milliseconds of each part of a step, means over lanes.",
                 .unit = "ms per step",
                 .text = tick_text};
  for (const StepPart& part : step_parts) {
    chart.parts.emplace_back(part.name);
  }
  chart.colours = part_colours;
  chart.bars = bars_of(report, scaling, [&](StackedBar& bar, const Point& point) {
    PointFigures figures = figures_of(report, point);
    for (const StepPart& part : step_parts) {
      double seconds = figures.times.*part.seconds;
      bar.parts.push_back(1000 * seconds);
      bar.titles.push_back(fmt::format("{}: {}: {} ms, {} of the step", to_text(point.variant),
                                       part.name, ms_text(seconds),
                                       share_text(seconds / figures.step_seconds)));
    }
    bar.total = ms_text(figures.step_seconds) + " ms";
  });
  return chart;
}

BarChart memory_chart(const BenchReport& report, Scaling scaling) {
  ByteUnit unit = unit_for(largest_amount(report));
  BarChart chart{.title = "Peak memory",
                 .description =
                     "Peak memory of all devices together by kind, what was planned, "
                     "and the resident memory of all processes.",
                 .unit = unit.name,
                 .text = tick_text,
                 .parts = memory_kinds(report)};
  for (size_t i = 0; i < chart.parts.size(); ++i) chart.colours.push_back(static_cast<int>(i));
  auto scaled = [&](int64_t bytes) { return static_cast<double>(bytes) / unit.bytes; };
  chart.bars = bars_of(report, scaling, [&](StackedBar& bar, const Point& point) {
    PointMemory memory = memory_of(point);
    auto title = [&](const std::string& name, int64_t bytes) {
      bar.titles.push_back(
          fmt::format("{}: {}: {}", to_text(point.variant), name, bytes_text(bytes)));
    };
    for (const std::string& kind : chart.parts) {
      int64_t bytes = bytes_of(memory.peak, kind).value_or(0);
      bar.parts.push_back(scaled(bytes));
      title(kind, bytes);
    }
    int64_t planned = total_bytes(memory.planned);
    bar.marks = {scaled(planned), scaled(memory.rss)};
    title("planned", planned);
    title("host RSS", memory.rss);
    bar.total = fmt::format("{}, RSS {}", figure_text(scaled(total_bytes(memory.peak))),
                            figure_text(scaled(memory.rss)));
  });
  return chart;
}

}  // namespace spire::inline bench
