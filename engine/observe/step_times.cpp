#include "engine/observe/step_times.h"

#include <algorithm>

namespace spire {

double total_of(const StepTimes& times) {
  double total = 0;
  for (const StepPart& part : step_parts) total += times.*part.seconds;
  return total;
}

StepTimes& operator+=(StepTimes& sum, const StepTimes& times) {
  for (const StepPart& part : step_parts) sum.*part.seconds += times.*part.seconds;
  return sum;
}

StepTimes operator*(StepTimes times, double factor) {
  for (const StepPart& part : step_parts) times.*part.seconds *= factor;
  return times;
}

StepTimes complete_times(const StepTimes& lanes, double waited, double seconds) {
  double measured = total_of(lanes);
  StepTimes times = measured > seconds ? lanes * (seconds / measured) : lanes;
  times.data = std::clamp(seconds - measured, 0.0, std::max(waited, 0.0));
  times.other = std::max(0.0, seconds - total_of(times));
  return times;
}

}  // namespace spire
