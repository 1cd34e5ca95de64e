// A line chart over numbers of devices, as an element <svg> that needs the page's style sheet.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/page/svg_marks.h"

namespace spire::inline page {

struct LinePoint {
  int64_t count = 1;  // of devices
  double value = 0;
  double low = 0, high = 0;  // a bar between them shows the spread; none if they are equal
  std::string title;         // what a pointer over the marker shows
};

struct LineSeries {
  std::string label;
  int colour = no_colour;  // also decides the shape of the markers
  LineStyle style = LineStyle::measured;
  std::vector<LinePoint> points = {};  // counts ascend
};

struct LineChart {
  std::string title, description;  // for readers of screens, too
  std::string unit;                // what stands beside the axis of values
  bool logarithmic = false;        // axis of values; they must be positive then
  std::string (*tick_text)(double) = nullptr;
  std::string (*value_text)(double) = nullptr;
  std::vector<LineSeries> series = {};  // the last measured point of each shows its value
};

// Plain texts are escaped. A chart without points has axes alone.
std::string line_chart(const LineChart& chart);

}  // namespace spire::inline page
