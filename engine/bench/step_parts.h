// The parts of a step's time by name, in the order in which a step runs.
#pragma once
#include <array>

#include <spire/observer.h>

namespace spire::inline bench {

struct StepPart {
  const char* name;
  double StepTimes::*seconds;
  int colour;  // in charts (svg_marks.h)
};

inline constexpr std::array step_parts = {
    StepPart{"data", &StepTimes::data, 4},           StepPart{"copy", &StepTimes::copy, 6},
    StepPart{"forward", &StepTimes::forward, 0},     StepPart{"backward", &StepTimes::backward, 5},
    StepPart{"reduce", &StepTimes::reduce, 1},       StepPart{"update", &StepTimes::update, 2},
    StepPart{"replicate", &StepTimes::replicate, 3}, StepPart{"other", &StepTimes::other, 7}};

}  // namespace spire::inline bench
