#include "engine/page/svg_frame.h"

#include <fmt/format.h>

#include "engine/page/html_text.h"
#include "engine/page/svg_marks.h"

namespace spire::inline page {
namespace {

constexpr double least_distance = 26;  // of the texts of two ticks of x

}  // namespace

std::string chart_element(double width, double height, const std::string& title,
                          const std::string& description, const std::string& content) {
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">"
      "<title>{}</title><desc>{}</desc>{}</svg>\n",
      width, height, html_text(title), html_text(description), content);
}

std::string ChartFrame::drawn(const ChartAxes& axes, std::string (*text)(double),
                              const std::string& x_unit, const std::string& y_unit) const {
  std::string svg = "<g class=\"axis\">";
  for (double tick : axes.y.ticks) {
    double y = axes.y.at(tick);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\"/>", left, y, right);
    svg += svg_label(left - 8, y + 4, "end", text(tick));
  }
  double last = left - least_distance;
  for (double tick : axes.x.ticks) {
    double x = axes.x.at(tick);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}v5\"/>", x, bottom);
    if (x - last < least_distance) continue;
    svg += svg_label(x, bottom + 19, "middle", fmt::format("{:.6g}", tick));
    last = x;
  }
  svg += svg_label((left + right) / 2, height - 8, "middle", x_unit);
  return svg + svg_label(0, 12, "start", y_unit) + "</g>";
}

}  // namespace spire::inline page
