// One device's measured step, and when in its backward each bucket of gradients is complete.
#pragma once
#include <cstdint>
#include <vector>

#include <spire/run_config.h>

#include "engine/update/tree.h"
#include "tools/bench/report/bench_report.h"

namespace spire {

struct StepProfile {
  Variant variant;          // of one device
  int64_t batch_size = 0;   // samples of a tower
  double step_seconds = 0;  // measured; what its parts leave of it stays as it is
  StepTimes times;          // measured
  std::vector<FloatRange> buckets;
  std::vector<double> ready;  // per bucket, the share of backward at which it is complete

  double samples_per_s() const {
    return static_cast<double>(batch_size * variant.towers) / step_seconds;
  }
};

// config: of the benchmark, see config_of(). Builds the graph of its model for buckets and ready
// shares (roofline_seconds() by the ceilings of one device), without training it. Throws
// Error(config) for more than one device, for a measurement without backward's time, and what
// train() throws for a config.
StepProfile profile_of(const RunConfig& config, const Variant& variant, const Measurement& measured,
                       const Ceilings& ceilings);

}  // namespace spire
