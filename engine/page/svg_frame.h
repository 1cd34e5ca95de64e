// What charts have around their data: the element <svg>, and the axes of one with ticks below and
// on the left.
#pragma once
#include <string>

#include "engine/page/svg_axis.h"

namespace spire::inline page {

// The element <svg> of a chart. title, description: plain, for readers of screens, too.
std::string chart_element(double width, double height, const std::string& title,
                          const std::string& description, const std::string& content);

struct ChartAxes {
  ChartAxis x, y;
};

// Size of a drawing, and the positions of its axes in it.
struct ChartFrame {
  double width = 0, height = 0;
  double left = 0, right = 0, top = 0, bottom = 0;

  // Draws the axes with what stands beside them. text: formats ticks of y; ticks of x whose texts
  // would touch have none.
  std::string drawn(const ChartAxes& axes, std::string (*text)(double), const std::string& x_unit,
                    const std::string& y_unit) const;
};

}  // namespace spire::inline page
