// The rate at which a run takes samples, as its lines report it.
#pragma once
#include <cmath>

namespace spire {

// Samples per second over about the last second: what lies t seconds back counts e^-t. A mean of
// samples by seconds, so that a step which ended early, as steps of a GPU in flight may, counts for
// no more than its time.
class RecentRate {
 public:
  // seconds: above 0.
  void add(double samples, double seconds) {
    double kept = std::exp(-seconds);
    samples_ = samples_ * kept + samples;
    seconds_ = seconds_ * kept + seconds;
  }
  // Samples per second; 0 before the first step.
  double value() const { return seconds_ > 0 ? samples_ / seconds_ : 0; }

 private:
  double samples_ = 0, seconds_ = 0;
};

}  // namespace spire
