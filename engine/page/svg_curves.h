// A chart of curves over a number that grows during a run, as an element <svg> that needs the
// page's style sheet. A curve of many values shows their mean, and shades the range between the
// smallest and the largest.
#pragma once
#include <string>
#include <vector>

namespace spire::inline page {

struct CurvePoint {
  double x = 0, y = 0;       // y: the mean; NaN: a gap, because no value was finite
  double low = 0, high = 0;  // the smallest and largest finite value
};

struct Curve {
  std::string label;
  int colour = -1;       // svg_marks.h
  bool markers = false;  // a marker at each point, for few points
  std::vector<CurvePoint> points = {};
};

struct CurveChart {
  std::string title, description;         // for readers of screens, too
  std::string x_unit, unit;               // what stands beside the axes
  std::string (*text)(double) = nullptr;  // formats ticks of the axis of values and last values
  bool from_zero = false;                 // the axis of values begins at 0
  bool may_be_logarithmic = false;        // it is where values span more than two decades
  bool logarithmic_x = false;             // for positive x
  bool stacked = false;                   // areas on each other; curves have equal x, no gaps
  std::vector<Curve> curves = {};
};

// Plain texts are escaped. Numbers that are not finite are left out.
std::string curve_chart(const CurveChart& chart);
// Elements <li>; none for a single curve without a label.
std::string curves_legend(const CurveChart& chart);

}  // namespace spire::inline page
