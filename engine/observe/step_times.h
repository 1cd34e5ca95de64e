// Names of the parts of a step's time (StepTimes), and arithmetic on them.
#pragma once
#include <array>
#include <string_view>

#include <spire/observer.h>

namespace spire {

struct StepPart {
  std::string_view name, tag;  // in summary.json, in metrics.jsonl
  double StepTimes::*seconds;
};
inline constexpr std::array<StepPart, 8> step_parts = {
    {{"data", "time/data_wait_ms", &StepTimes::data},
     {"copy", "time/copy_ms", &StepTimes::copy},
     {"forward", "time/forward_ms", &StepTimes::forward},
     {"backward", "time/backward_ms", &StepTimes::backward},
     {"reduce", "time/comm_wait_ms", &StepTimes::reduce},
     {"update", "time/update_ms", &StepTimes::update},
     {"replicate", "time/replicate_ms", &StepTimes::replicate},
     {"other", "time/other_ms", &StepTimes::other}}};

double total_of(const StepTimes& times);  // seconds of all parts
StepTimes& operator+=(StepTimes& sum, const StepTimes& times);
StepTimes operator*(StepTimes times, double factor);

// Returns all parts of a step of `seconds`, which are their total. lanes: the parts that lanes have
// measured, without `data` and `other`. waited: the host's waiting for the batch; only what the
// lanes' parts leave of the step counts, since a GPU may work meanwhile. A GPU's clock may say a
// little more than the host's: then the lanes' parts are scaled down to the step.
StepTimes complete_times(const StepTimes& lanes, double waited, double seconds);

}  // namespace spire
