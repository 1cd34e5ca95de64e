#include "engine/page/svg_curves.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "engine/page/html_text.h"
#include "engine/page/svg_frame.h"
#include "engine/page/svg_marks.h"

namespace spire::inline page {
namespace {

constexpr ChartFrame curves_frame{
    .width = 560, .height = 300, .left = 66, .right = 480, .top = 26, .bottom = 254};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// Sums of the curves up to `count`, point by point.
double stacked_to(const CurveChart& chart, size_t count, size_t point) {
  double sum = 0;
  for (size_t c = 0; c < count; ++c)
    if (point < chart.curves[c].points.size()) sum += chart.curves[c].points[point].y;
  return sum;
}

Range values_of(const CurveChart& chart) {
  Range values;
  if (chart.stacked) {
    size_t points = chart.curves.empty() ? 0 : chart.curves.front().points.size();
    for (size_t p = 0; p < points; ++p) values.add(stacked_to(chart, chart.curves.size(), p));
  } else {
    for (const Curve& curve : chart.curves)
      for (const CurvePoint& point : curve.points)
        if (!std::isnan(point.y)) {
          values.add(point.low);
          values.add(point.high);
        }
  }
  return values;
}

ChartAxes axes_of(const CurveChart& chart) {
  Range x, y = values_of(chart);
  for (const Curve& curve : chart.curves)
    for (const CurvePoint& point : curve.points) x.add(point.x);
  if (y.empty()) y.add(0);
  ChartAxis across = chart.logarithmic_x && !x.empty()
                         ? log_axis(x.low, x.high, curves_frame.left, curves_frame.right)
                         : range_axis(std::min(x.empty() ? 0 : x.low, 0.0), x.empty() ? 1 : x.high,
                                      curves_frame.left, curves_frame.right);
  bool decades = chart.may_be_logarithmic && y.low > 0 && y.high / y.low > 100;
  if (decades) return {across, log_axis(y.low, y.high, curves_frame.bottom, curves_frame.top)};
  bool zero = chart.from_zero || chart.stacked;
  return {across, range_axis(zero ? std::min(y.low, 0.0) : y.low, y.high, curves_frame.bottom,
                             curves_frame.top)};
}

// Calls `part(begin, end)` for each run of points without a gap.
template <typename Part>
void for_each_part(const Curve& curve, Part part) {
  size_t begin = 0;
  for (size_t i = 0; i <= curve.points.size(); ++i) {
    if (i < curve.points.size() && !std::isnan(curve.points[i].y)) continue;
    if (i > begin) part(begin, i);
    begin = i + 1;
  }
}

// A piece of a path: its command, 'M' or 'L', and a position.
std::string to_point(char command, const ChartAxes& axes, double x, double y) {
  return fmt::format("{}{:.1f} {:.1f}", command, axes.x.at(x), axes.y.at(y));
}

// The range between the smallest and the largest values.
std::string band_of(const Curve& curve, const ChartAxes& axes) {
  std::string path;
  for_each_part(curve, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      path += to_point(i == begin ? 'M' : 'L', axes, curve.points[i].x, curve.points[i].high);
    for (size_t i = end; i-- > begin;)
      path += to_point('L', axes, curve.points[i].x, curve.points[i].low);
    path += "z";
  });
  return path.empty() ? "" : fmt::format("<path class=\"band\" d=\"{}\"/>", path);
}

std::string line_of(const Curve& curve, const ChartAxes& axes) {
  std::string path;
  for_each_part(curve, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      path += to_point(i == begin ? 'M' : 'L', axes, curve.points[i].x, curve.points[i].y);
    if (end == begin + 1) path += "h.1";  // a single point: a dot
  });
  return path.empty() ? "" : fmt::format("<path class=\"curve\" d=\"{}\"/>", path);
}

std::string drawn(const Curve& curve, const CurveChart& chart, const ChartAxes& axes) {
  std::string svg = fmt::format("<g class=\"{}\">", colour_class(curve.colour));
  svg += (curve.markers ? "" : band_of(curve, axes)) + line_of(curve, axes);
  if (curve.markers) {
    for (const CurvePoint& point : curve.points) {
      if (std::isnan(point.y)) continue;
      std::string title = fmt::format("{}: {} at {} {:.6g}", curve.label, chart.text(point.y),
                                      chart.x_unit, point.x);
      svg += fmt::format("<g><title>{}</title>{}</g>", html_text(title),
                         marker(curve.colour, axes.x.at(point.x), axes.y.at(point.y), false));
    }
  }
  return svg + "</g>";
}

// The area between the sums of the curves before this one, and with it.
std::string area(const CurveChart& chart, size_t index, const ChartAxes& axes) {
  const Curve& curve = chart.curves[index];
  std::string path;
  for (size_t p = 0; p < curve.points.size(); ++p)
    path += to_point(p == 0 ? 'M' : 'L', axes, curve.points[p].x, stacked_to(chart, index + 1, p));
  for (size_t p = curve.points.size(); p-- > 0;)
    path += to_point('L', axes, curve.points[p].x, stacked_to(chart, index, p));
  if (path.empty()) return "";
  return fmt::format("<g class=\"{}\"><title>{}</title><path class=\"area\" d=\"{}z\"/></g>",
                     colour_class(curve.colour), html_text(curve.label), path);
}

// The last value of each curve, beside it.
std::string end_labels(const CurveChart& chart, const ChartAxes& axes) {
  std::vector<EndLabel> labels;
  for (const Curve& curve : chart.curves) {
    auto last = std::find_if(curve.points.rbegin(), curve.points.rend(),
                             [](const CurvePoint& point) { return !std::isnan(point.y); });
    if (last == curve.points.rend()) continue;
    labels.push_back({axes.x.at(last->x), axes.y.at(last->y), chart.text(last->y)});
  }
  return end_labels_svg(labels, curves_frame.top);
}

}  // namespace

std::string curve_chart(const CurveChart& chart) {
  ChartAxes axes = axes_of(chart);
  std::string svg = curves_frame.drawn(axes, chart.text, chart.x_unit, chart.unit);
  for (size_t c = 0; c < chart.curves.size(); ++c)
    svg += chart.stacked ? area(chart, c, axes) : drawn(chart.curves[c], chart, axes);
  if (!chart.stacked) svg += end_labels(chart, axes);
  return chart_element(curves_frame.width, curves_frame.height, chart.title, chart.description,
                       svg);
}

std::string curves_legend(const CurveChart& chart) {
  std::string legend;
  if (chart.curves.size() == 1 && chart.curves[0].label.empty()) return legend;
  for (const Curve& curve : chart.curves)
    legend += chart.stacked ? box_legend(curve.colour, curve.label)
                            : curve_legend(curve.colour, curve.markers, curve.label);
  return legend;
}

}  // namespace spire::inline page
