#include "engine/observe/page/downsampled_curve.h"

#include <algorithm>
#include <cmath>

namespace spire {

void DownsampledCurve::Merged::add(const Merged& next) {
  if (groups == 0) first_x = next.first_x;
  last_x = next.last_x;
  sum += next.sum;
  low = std::min(low, next.low);
  high = std::max(high, next.high);
  groups += next.groups;
  finite += next.finite;
}

void DownsampledCurve::add(double x, double y, int64_t group) {
  bool same_group = group >= 0 && group == group_;
  Merged one{.first_x = x, .last_x = x, .groups = same_group ? 0 : 1};
  if (std::isfinite(y)) {
    one.sum = one.low = one.high = y;
    one.finite = 1;
  }
  bool begins = points_.empty() || (points_.back().groups == width_ && !same_group);
  if (begins && points_.size() == most_points) halve();  // the merged ones are full, too
  if (begins) points_.emplace_back();
  points_.back().add(one);
  group_ = group;
}

void DownsampledCurve::halve() {
  for (size_t i = 0; i < points_.size() / 2; ++i) {
    Merged merged = points_[2 * i];
    merged.add(points_[2 * i + 1]);
    points_[i] = merged;
  }
  points_.resize(points_.size() / 2);
  width_ *= 2;
}

std::vector<CurvePoint> DownsampledCurve::points() const {
  std::vector<CurvePoint> points;
  for (const Merged& merged : points_) {
    double x = (merged.first_x + merged.last_x) / 2;
    double mean = merged.finite > 0 ? merged.sum / static_cast<double>(merged.finite)
                                    : std::numeric_limits<double>::quiet_NaN();
    // Rounding may take the mean of equal values outside them.
    if (merged.finite > 0) mean = std::clamp(mean, merged.low, merged.high);
    points.push_back({x, mean, merged.low, merged.high});
  }
  return points;
}

}  // namespace spire
