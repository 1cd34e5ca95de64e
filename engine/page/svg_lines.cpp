#include "engine/page/svg_lines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "engine/page/html_text.h"
#include "engine/page/svg_axis.h"

namespace spire::inline page {
namespace {

constexpr double width = 560, height = 320;
constexpr double left = 66, right = width - 62, top = 26, bottom = height - 46;
constexpr double least_distance = 26;  // of the texts of two ticks of the axis of counts

struct Axes {
  ChartAxis x, y;
};

Axes axes_of(const LineChart& chart) {
  std::vector<int64_t> counts;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  for (const LineSeries& series : chart.series)
    for (const LinePoint& point : series.points) {
      counts.push_back(point.count);
      smallest = std::min({smallest, point.low, point.value});
      largest = std::max({largest, point.high, point.value});
    }
  if (counts.empty()) counts = {1};
  bool logarithmic = chart.logarithmic && smallest > 0 && smallest <= largest;
  return {count_axis(counts, left, right), logarithmic ? log_axis(smallest, largest, bottom, top)
                                                       : linear_axis(largest, bottom, top)};
}

std::string drawn(const LineChart& chart, const Axes& axes) {
  std::string svg = "<g class=\"axis\">";
  for (double tick : axes.y.ticks) {
    double y = axes.y.at(tick);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\"/>", left, y, right);
    svg += svg_label(left - 8, y + 4, "end", chart.tick_text(tick));
  }
  double last = left - least_distance;
  for (double tick : axes.x.ticks) {
    double x = axes.x.at(tick);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}v5\"/>", x, bottom);
    if (x - last < least_distance) continue;
    svg += svg_label(x, bottom + 19, "middle", fmt::format("{:.0f}", tick));
    last = x;
  }
  svg += svg_label((left + right) / 2, height - 8, "middle", "devices");
  svg += svg_label(0, 12, "start", chart.unit);
  return svg + "</g>";
}

std::string line_of(const LineSeries& series, const Axes& axes) {
  const char* style = series.style == LineStyle::ideal      ? "ideal"
                      : series.style == LineStyle::modelled ? "modelled"
                                                            : "measured";
  std::string path;
  for (const LinePoint& point : series.points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L",
                        axes.x.at(static_cast<double>(point.count)), axes.y.at(point.value));
  return fmt::format("<path class=\"{}\" d=\"{}\"/>", style, path);
}

std::string point_of(const LineSeries& series, const LinePoint& point, const Axes& axes) {
  double x = axes.x.at(static_cast<double>(point.count));
  std::string spread;
  if (point.high > point.low) {
    double low = axes.y.at(point.low), high = axes.y.at(point.high);
    spread = fmt::format(
        "<path class=\"spread\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h8M{3:.1f} "
        "{2:.1f}h8\"/>",
        x, low, high, x - 4);
  }
  return fmt::format(
      "<g><title>{}</title>{}{}</g>", html_text(point.title), spread,
      marker(series.colour, x, axes.y.at(point.value), series.style == LineStyle::modelled));
}

std::string drawn(const LineSeries& series, const Axes& axes) {
  if (series.points.empty()) return "";
  std::string svg = fmt::format("<g class=\"{}\">", colour_class(series.colour));
  svg += line_of(series, axes);
  if (series.style != LineStyle::ideal)
    for (const LinePoint& point : series.points) svg += point_of(series, point, axes);
  return svg + "</g>";
}

std::string end_labels(const LineChart& chart, const Axes& axes) {
  std::vector<EndLabel> labels;
  for (const LineSeries& series : chart.series) {
    if (series.style != LineStyle::measured || series.points.empty()) continue;
    const LinePoint& last = series.points.back();
    EndLabel label{axes.x.at(static_cast<double>(last.count)), axes.y.at(last.value),
                   chart.value_text(last.value)};
    bool repeated = std::ranges::any_of(labels, [&](const EndLabel& other) {
      return other.x == label.x && other.text == label.text;
    });
    if (!repeated) labels.push_back(std::move(label));
  }
  return end_labels_svg(labels, top);
}

}  // namespace

std::string line_chart(const LineChart& chart) {
  Axes axes = axes_of(chart);
  std::string svg = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">"
      "<title>{}</title><desc>{}</desc>",
      width, height, html_text(chart.title), html_text(chart.description));
  svg += drawn(chart, axes);
  for (const LineSeries& series : chart.series) svg += drawn(series, axes);
  return svg + end_labels(chart, axes) + "</svg>\n";
}

}  // namespace spire::inline page
