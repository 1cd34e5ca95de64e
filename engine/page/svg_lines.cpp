#include "engine/page/svg_lines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "engine/page/html_text.h"
#include "engine/page/svg_frame.h"

namespace spire::inline page {
namespace {

constexpr ChartFrame lines_frame{
    .width = 560, .height = 320, .left = 66, .right = 498, .top = 26, .bottom = 274};

ChartAxes axes_of(const LineChart& chart) {
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
  return {count_axis(counts, lines_frame.left, lines_frame.right),
          logarithmic ? log_axis(smallest, largest, lines_frame.bottom, lines_frame.top)
                      : linear_axis(largest, lines_frame.bottom, lines_frame.top)};
}

std::string line_of(const LineSeries& series, const ChartAxes& axes) {
  const char* style = series.style == LineStyle::ideal      ? "ideal"
                      : series.style == LineStyle::modelled ? "modelled"
                                                            : "measured";
  std::string path;
  for (const LinePoint& point : series.points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L",
                        axes.x.at(static_cast<double>(point.count)), axes.y.at(point.value));
  return fmt::format("<path class=\"{}\" d=\"{}\"/>", style, path);
}

std::string point_of(const LineSeries& series, const LinePoint& point, const ChartAxes& axes) {
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

std::string drawn(const LineSeries& series, const ChartAxes& axes) {
  if (series.points.empty()) return "";
  std::string svg = fmt::format("<g class=\"{}\">", colour_class(series.colour));
  svg += line_of(series, axes);
  if (series.style != LineStyle::ideal)
    for (const LinePoint& point : series.points) svg += point_of(series, point, axes);
  return svg + "</g>";
}

std::string end_labels(const LineChart& chart, const ChartAxes& axes) {
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
  return end_labels_svg(labels, lines_frame.top);
}

}  // namespace

std::string line_chart(const LineChart& chart) {
  ChartAxes axes = axes_of(chart);
  std::string svg = lines_frame.drawn(axes, chart.tick_text, "devices", chart.unit);
  for (const LineSeries& series : chart.series) svg += drawn(series, axes);
  svg += end_labels(chart, axes);
  return chart_element(lines_frame.width, lines_frame.height, chart.title, chart.description, svg);
}

}  // namespace spire::inline page
