// One device's measured step, and when in its backward each bucket of gradients is complete: what
// decides how much of an exchange backward hides.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include <spire/run_config.h>

#include "engine/graph/parameter_layout.h"
#include "engine/train/model_graph.h"
#include "engine/update/tree.h"
#include "tools/bench/report/bench_report.h"
#include "tools/performance/op_work.h"

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
// shares (by the roofline of one device), without training it. Throws Error(config) for more than
// one device, for a measurement without backward's time, and what train() throws for a config.
StepProfile profile_of(const RunConfig& config, const Variant& variant, const Measurement& measured,
                       const Ceilings& ceilings);

// Returns the seconds that an op takes; only ratios count.
using OpSeconds = std::function<double(const OpWork& work)>;

// Returns for each bucket the share of backward's time, 0..1, after which it is complete: after the
// last node that reads or writes a gradient that begins before its end. The last bucket, which ends
// with the running statistics, is complete at 1.
std::vector<double> ready_shares(const LoweredGraph& lowered, const ParameterLayout& layout,
                                 const std::vector<FloatRange>& buckets, const OpSeconds& seconds);

}  // namespace spire
