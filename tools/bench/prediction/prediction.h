// Predicts how fast a run is on more devices than are here: from the parts of a step measured on
// one device, and the time of the exchanges (communication_model.h). A model, not a measurement.
//
// docs/benchmarks.md, "Predicted scaling", has the formulas and what they leave out.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/bench/prediction/communication_model.h"
#include "tools/bench/prediction/step_profile.h"

namespace spire {

// Returns gamma: an addition reads two floats and writes one, at the copy bandwidth of one
// thread or GPU.
double gamma_of(const Ceilings& ceilings);

struct PredictedPoint {
  Scaling scaling = Scaling::strong;
  int64_t devices = 1, towers = 1;
  double samples_per_s = 0;
  double efficiency = 0;       // speed a device, of that of one device
  double exposed_seconds = 0;  // of a step: exchanges that backward does not hide
  double step_seconds = 0;
  std::string error = {};  // why the run cannot have as many devices; empty otherwise
};

// Returns the time after the end of a tower's backward of `backward` seconds until all its buckets
// are reduced over `members`, with the lanes' own shares of the sums.
double exposed_reduction(const StepProfile& profile, const CommunicationModel& model,
                         int64_t members, double backward);

// REQUIRES: devices are multiples of model.devices_per_member.
PredictedPoint predict(const StepProfile& profile, const CommunicationModel& model, Scaling scaling,
                       int64_t devices);
std::vector<PredictedPoint> predict_scaling(const StepProfile& profile,
                                            const CommunicationModel& model,
                                            std::span<const Scaling> scalings,
                                            std::span<const int64_t> devices);

// Returns the table, headed "model, not measured", with the assumptions.
std::string to_text(const StepProfile& profile, const CommunicationModel& model,
                    const std::vector<PredictedPoint>& points);

// Returns a table of the model's speed beside the measured one, for each measured point on several
// CPU devices with the profile's precision, strategy and towers: "model : measured". model: of that
// strategy, its link between the processes of this host; a process is a member of all its devices.
std::string compare_with_measured(const StepProfile& profile, CommunicationModel model,
                                  std::span<const Point> points);

}  // namespace spire
