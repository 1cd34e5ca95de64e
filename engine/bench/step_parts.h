// The parts of a step's time by name, in the order in which a step runs.
#pragma once
#include <array>

#include <spire/observer.h>

namespace spire::inline bench {

struct StepPart {
  const char* name;
  double StepTimes::*seconds;
};

inline constexpr std::array step_parts = {
    StepPart{"data", &StepTimes::data},           StepPart{"copy", &StepTimes::copy},
    StepPart{"forward", &StepTimes::forward},     StepPart{"backward", &StepTimes::backward},
    StepPart{"reduce", &StepTimes::reduce},       StepPart{"update", &StepTimes::update},
    StepPart{"replicate", &StepTimes::replicate}, StepPart{"other", &StepTimes::other}};

}  // namespace spire::inline bench
