// A curve over the steps of a run in a fixed number of points: as the run goes on, each point
// becomes the mean of more steps.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace spire::inline publish {

// Several values on one axis. add() never allocates.
template <size_t values>
class Curve {
 public:
  using Point = std::array<double, values>;  // the first value is the axis

  // capacity: even.
  explicit Curve(size_t capacity) : capacity_(capacity) { points_.reserve(capacity); }

  void add(const Point& point) {
    for (size_t i = 0; i < values; ++i) sum_[i] += point[i];
    if (++summed_ < steps_per_point_) return;
    points_.push_back(mean(sum_, static_cast<double>(summed_)));
    sum_ = {};
    summed_ = 0;
    if (points_.size() == capacity_) halve();
  }

  const std::vector<Point>& points() const { return points_; }
  int64_t steps_per_point() const { return steps_per_point_; }

 private:
  static Point mean(Point sum, double count) {
    for (double& value : sum) value /= count;
    return sum;
  }

  void halve() {
    for (size_t i = 0; i < capacity_ / 2; ++i) {
      Point sum = points_[2 * i];
      for (size_t v = 0; v < values; ++v) sum[v] += points_[2 * i + 1][v];
      points_[i] = mean(sum, 2);
    }
    points_.resize(capacity_ / 2);
    steps_per_point_ *= 2;
  }

  size_t capacity_;
  int64_t steps_per_point_ = 1, summed_ = 0;
  Point sum_ = {};
  std::vector<Point> points_;
};

}  // namespace spire::inline publish
