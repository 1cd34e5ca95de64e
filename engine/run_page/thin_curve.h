// A curve of any length, thinned while it is read to what a chart can show: neighbours are merged
// into one point with their mean, smallest and largest value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/page/svg_curves.h"

namespace spire::inline run_page {

class ThinCurve {
 public:
  static constexpr size_t most_points = 360;  // even

  // y: NaN or infinite where it was not finite; such values leave a gap only where none is finite.
  void add(double x, double y);

  bool empty() const { return points_.empty(); }
  int64_t count() const { return count_; }  // values added
  double last() const { return last_; }     // NaN before the first
  std::vector<CurvePoint> points() const;   // most_points at most, in order

 private:
  struct Merged {
    double first_x = 0, last_x = 0, sum = 0;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    int64_t values = 0, finite = 0;
    void add(const Merged& next);
  };
  void halve();

  std::vector<Merged> points_;
  int64_t width_ = 1;  // values in each point but the last
  int64_t count_ = 0;
  double last_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace spire::inline run_page
