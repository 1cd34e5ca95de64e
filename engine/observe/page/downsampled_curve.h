// A curve of any length, thinned while it is read to what a chart can show: neighbours are merged
// into one point with their mean, smallest and largest value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace spire {

struct CurvePoint {
  double x = 0, y = 0;       // y: the mean; NaN: a gap, because no value was finite
  double low = 0, high = 0;  // the smallest and largest finite value
};

class DownsampledCurve {
 public:
  static constexpr size_t most_points = 360;  // even

  DownsampledCurve() { points_.reserve(most_points); }

  // A y that is not finite leaves a gap only if no value merged into its point is finite. group:
  // neighbours of one group, such as an epoch, share a point; -1: none. Never allocates.
  void add(double x, double y, int64_t group = -1);

  int64_t width() const { return width_; }  // values or groups in each point but the last
  std::vector<CurvePoint> points() const;   // most_points at most, in order

 private:
  struct Merged {
    double first_x = 0, last_x = 0, sum = 0;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    int64_t groups = 0, finite = 0;
    void add(const Merged& next);
  };
  void halve();

  std::vector<Merged> points_;
  int64_t width_ = 1, group_ = -1;
};

}  // namespace spire
