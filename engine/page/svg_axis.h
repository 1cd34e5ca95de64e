// An axis of a chart: where values lie on the drawing, and ticks at round values.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace spire::inline page {

struct ChartAxis {
  double low = 0, high = 1;  // values at the ends; low > 0 if logarithmic
  double from = 0, to = 1;   // positions of the ends, in units of the drawing
  bool logarithmic = false;
  std::vector<double> ticks = {};  // ascending, within the ends

  double at(double value) const;  // position; that of an end for values beyond it
};

// The axis from 0 to the first tick at or above `largest`: 4 to 8 ticks that are 1, 2 or 5 times a
// power of ten apart. Ends at 1 if `largest` is not positive.
ChartAxis linear_axis(double largest, double from, double to);

// The axis between two ticks around [smallest, largest]; one tick more where they are equal. Ticks
// as of linear_axis(); they begin at 0 where `smallest` is less than a quarter of `largest` away
// from it. 0 to 1 where one is not finite.
ChartAxis range_axis(double smallest, double largest, double from, double to);

// The axis between two ticks around [smallest, largest], both positive: at 1, 2 and 5 times powers
// of ten, or only at powers of ten where those would be many.
ChartAxis log_axis(double smallest, double largest, double from, double to);

// The logarithmic axis with a tick at each count and a margin at both ends. counts: positive.
ChartAxis count_axis(const std::vector<int64_t>& counts, double from, double to);

}  // namespace spire::inline page
