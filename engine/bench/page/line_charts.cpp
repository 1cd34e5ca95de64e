// Speed and efficiency over numbers of devices.
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "engine/bench/page/bench_charts.h"
#include "engine/bench/page/bench_series.h"
#include "engine/bench/report/bench_cells.h"

namespace spire::inline bench {
namespace {

std::string whole_share_text(double share) {
  return fmt::format("{:.0f}%", 100 * share);
}

int colour_of(const std::vector<std::string>& labels, const std::string& label) {
  return static_cast<int>(std::ranges::find(labels, label) - labels.begin());
}

LinePoint speed_point(const BenchReport& report, const Point& point) {
  PointFigures figures = figures_of(report, point);
  return {.count = point.variant.devices,
          .value = figures.samples_per_s,
          .low = figures.slowest,
          .high = figures.fastest,
          .title = fmt::format("{}: {} samples/s, {}", to_text(point.variant),
                               figure_text(figures.samples_per_s),
                               range_text(figures.slowest, figures.fastest))};
}

// The dashed line through the first point on which speed grows as devices do.
LineSeries ideal_of(const LineSeries& measured) {
  LineSeries ideal{.label = "ideal", .colour = measured.colour, .style = LineStyle::ideal};
  const LinePoint& first = measured.points.front();
  for (const LinePoint& point : measured.points) {
    double speed =
        first.value * static_cast<double>(point.count) / static_cast<double>(first.count);
    ideal.points.push_back({point.count, speed, speed, speed, ""});
  }
  return ideal;
}

// Makes a series for each label, in colours behind those of measured series.
std::vector<LineSeries> modelled_series(const std::vector<ModelledPoint>& modelled, Scaling scaling,
                                        int colour) {
  std::vector<LineSeries> all;
  for (const ModelledPoint& point : modelled) {
    if (point.scaling != scaling) continue;
    auto found = std::ranges::find(all, point.label, &LineSeries::label);
    if (found == all.end())
      found = all.insert(all.end(),
                         {.label = point.label, .colour = colour++, .style = LineStyle::modelled});
    found->points.push_back({point.devices, point.samples_per_s, point.samples_per_s,
                             point.samples_per_s,
                             fmt::format("{}, model, not measured: {} samples/s", point.label,
                                         figure_text(point.samples_per_s))});
  }
  for (LineSeries& series : all) {
    std::ranges::stable_sort(series.points, {}, &LinePoint::count);
    series.label += " (model, not measured)";
  }
  return all;
}

// Returns the measured series of one scaling, without those for which `value` gives no points.
template <typename PointOf>
std::vector<LineSeries> measured_series(const BenchReport& report, Scaling scaling,
                                        PointOf point_of) {
  std::vector<BenchSeries> all = series_of(report);
  std::vector<std::string> labels = labels_of(all);
  std::vector<LineSeries> lines;
  for (const BenchSeries& series : all) {
    if (series.scaling != scaling) continue;
    LineSeries line{.label = series.label, .colour = colour_of(labels, series.label)};
    for (const Point* point : series.points) point_of(*point, line.points);
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

LineChart speed_chart(const BenchReport& report, Scaling scaling,
                      const std::vector<ModelledPoint>& modelled) {
  LineChart chart{.title = "Speed",
                  .description =
                      "Samples per second over the number of devices: median and range "
                      "of the rounds; dashed: in proportion to the devices.",
                  .unit = "samples/s",
                  .logarithmic = true,
                  .tick_text = tick_text,
                  .value_text = figure_text};
  auto measured =
      measured_series(report, scaling, [&](const Point& point, std::vector<LinePoint>& points) {
        points.push_back(speed_point(report, point));
      });
  for (const LineSeries& series : measured)
    if (series.points.size() > 1) chart.series.push_back(ideal_of(series));
  auto predicted =
      modelled_series(modelled, scaling, static_cast<int>(labels_of(series_of(report)).size()));
  chart.series.insert(chart.series.end(), predicted.begin(), predicted.end());
  chart.series.insert(chart.series.end(), measured.begin(), measured.end());
  return chart;
}

LineChart efficiency_chart(const BenchReport& report, Scaling scaling) {
  LineChart chart{.title = "Efficiency",
                  .description = "Speed of a device, relative to one device alone.",
                  .unit = "efficiency",
                  .tick_text = whole_share_text,
                  .value_text = whole_share_text};
  LineSeries all{.label = "ideal", .style = LineStyle::ideal};
  auto measured =
      measured_series(report, scaling, [&](const Point& point, std::vector<LinePoint>& points) {
        auto efficiency = figures_of(report, point).efficiency;
        if (!efficiency) return;
        all.points.push_back({point.variant.devices, 1, 1, 1, ""});
        points.push_back({point.variant.devices, *efficiency, *efficiency, *efficiency,
                          to_text(point.variant) + ": " + share_text(*efficiency)});
      });
  std::ranges::sort(all.points, {}, &LinePoint::count);
  chart.series.push_back(std::move(all));
  chart.series.insert(chart.series.end(), measured.begin(), measured.end());
  return chart;
}

}  // namespace spire::inline bench
