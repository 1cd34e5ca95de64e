#include "engine/page/svg_bars.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

#include "engine/page/html_text.h"
#include "engine/page/svg_axis.h"
#include "engine/page/svg_frame.h"
#include "engine/page/svg_marks.h"

namespace spire::inline page {
namespace {

constexpr double width = 560, right = width - 108, top = 4;
constexpr double bar_pitch = 22, bar_height = 14, heading_height = 22, axis_height = 44;
constexpr double per_character = 6.6;  // width of an average one, generously

// Right edge of the labels: as wide as the longest needs, but a third of the chart at most.
double left_of(const BarChart& chart) {
  size_t longest = 0;
  for (const StackedBar& bar : chart.bars) longest = std::max(longest, bar.label.size());
  return std::clamp(static_cast<double>(longest) * per_character + 12, 60.0, width / 3);
}

double end_of(const StackedBar& bar) {
  return std::accumulate(bar.parts.begin(), bar.parts.end(), 0.0);
}

ChartAxis axis_of(const BarChart& chart) {
  double largest = 0;
  for (const StackedBar& bar : chart.bars) {
    largest = std::max(largest, end_of(bar));
    for (double mark : bar.marks) largest = std::max(largest, mark);
  }
  return linear_axis(largest, left_of(chart), right);
}

std::string mark_path(size_t number, double x, double y) {
  if (number == 0) return fmt::format("M{:.1f} {:.1f}v{:.1f}", x, y - 3, bar_height + 6);
  return fmt::format("M{:.1f} {:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z", x, y + bar_height / 2 - 4.5);
}

std::string titled(const StackedBar& bar, size_t title, const std::string& element) {
  if (title >= bar.titles.size()) return element;
  return fmt::format("<g><title>{}</title>{}</g>", html_text(bar.titles[title]), element);
}

// Draws one bar whose upper edge is at y, with its texts.
std::string drawn(const StackedBar& bar, const std::vector<int>& colours, const ChartAxis& axis,
                  double y) {
  std::string svg = svg_label(axis.from - 8, y + 11, "end", bar.label);
  double sum = 0;
  for (size_t i = 0; i < bar.parts.size(); ++i) {
    double from = axis.at(sum), to = axis.at(sum += bar.parts[i]);
    if (to - from < 0.05) continue;
    svg +=
        titled(bar, i,
               fmt::format("<path class=\"part {}\" d=\"M{:.2f} {:.1f}H{:.2f}v{:.0f}H{:.2f}z\"/>",
                           colour_class(colours.at(i)), from, y, to, bar_height, from));
  }
  double end = axis.at(sum);
  for (size_t i = 0; i < bar.marks.size(); ++i) {
    double x = axis.at(bar.marks[i]);
    end = std::max(end, x);
    svg += titled(bar, bar.parts.size() + i,
                  fmt::format("<path class=\"mark\" d=\"{}\"/>", mark_path(i, x, y)));
  }
  return svg + "<g class=\"value\">" + svg_label(end + 9, y + 11, "start", bar.total) + "</g>";
}

std::string drawn(const BarChart& chart, const ChartAxis& axis, double bottom) {
  std::string svg = "<g class=\"axis\">";
  for (double tick : axis.ticks) {
    double x = axis.at(tick);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}\"/>", x, top, bottom);
    svg += svg_label(x, bottom + 16, "middle", chart.text(tick));
  }
  svg += svg_label((axis.from + axis.to) / 2, bottom + 35, "middle", chart.unit);
  return svg + "</g>";
}

std::string mark_legend(size_t number, const std::string& label) {
  return fmt::format(
      "<li><svg viewBox=\"0 0 14 20\" width=\"14\" height=\"20\" aria-hidden=\"true\">"
      "<path class=\"mark\" d=\"{}\"/></svg>{}</li>",
      mark_path(number, 7, 3), html_text(label));
}

}  // namespace

std::string bar_chart(const BarChart& chart) {
  ChartAxis axis = axis_of(chart);
  std::string bars, group;
  double y = top;
  for (const StackedBar& bar : chart.bars) {
    if (bar.group != group) {
      bars += "<g class=\"heading\">" + svg_label(axis.from, y + 15, "start", bar.group) + "</g>";
      y += heading_height;
      group = bar.group;
    }
    bars += drawn(bar, chart.colours, axis, y + (bar_pitch - bar_height) / 2);
    y += bar_pitch;
  }
  return chart_element(width, y + axis_height, chart.title, chart.description,
                       drawn(chart, axis, y + 2) + bars);
}

std::string parts_legend(const BarChart& chart) {
  std::string legend;
  for (size_t i = 0; i < chart.parts.size(); ++i)
    legend += box_legend(chart.colours.at(i), chart.parts[i]);
  return legend;
}

std::string line_mark_legend(const std::string& label) {
  return mark_legend(0, label);
}

std::string diamond_mark_legend(const std::string& label) {
  return mark_legend(1, label);
}

}  // namespace spire::inline page
