// Steps whose devices arrive when a test says.
#pragma once
#include <initializer_list>
#include <vector>

#include "tests/observe/reports.h"

namespace spire {

class MadeSteps {
 public:
  explicit MadeSteps(size_t count) : devices(count) {}

  // The next step. It is valid until the next call.
  StepReport at(std::initializer_list<double> arrivals_ms) {
    size_t d = 0;
    for (double arrival : arrivals_ms) devices.at(d++).arrival_ms = arrival;
    StepReport step = sample_step(++number_);
    step.step_ms = step_ms;
    step.devices = devices;
    return step;
  }

  std::vector<DeviceReport> devices;  // how they are from now on
  double step_ms = 100;

 private:
  int64_t number_ = 0;
};

}  // namespace spire
