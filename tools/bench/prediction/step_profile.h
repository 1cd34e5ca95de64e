// The measured step of one device, and the point of its backward at which each bucket of gradients
// is complete. From both follows how much of an exchange backward hides.
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
  Variant variant;         // of one device
  int64_t batch_size = 0;  // samples of a tower
  // Measured. What is not data, copy, forward, backward or update stays constant in a prediction.
  double step_seconds = 0;
  StepTimes times;  // measured
  std::vector<FloatRange> buckets;
  std::vector<double> ready;  // per bucket, the share of backward at which it is complete

  double samples_per_s() const {
    return static_cast<double>(batch_size * variant.towers) / step_seconds;
  }
};

// Builds the graph of the benchmark's model, without training it, and computes buckets and ready
// shares from the roofline of one device. config: the benchmark's; config_of() makes the variant's
// of it. Throws Error(config) if the variant has more than one device or no time of backward, and
// what train() throws for a config.
StepProfile profile_of(const RunConfig& config, const Variant& variant, const Measurement& measured,
                       const Ceilings& ceilings);

// Returns the seconds that an op takes; only ratios count.
using OpSeconds = std::function<double(const OpWork& work)>;

// Returns for each bucket the share (0..1) of backward's time at which it is complete: the end of
// the last node that uses one of the gradients that begin before the bucket's end. The last bucket,
// which ends with the running statistics, is complete at 1.
std::vector<double> ready_shares(const LoweredGraph& lowered, const ParameterLayout& layout,
                                 const std::vector<FloatRange>& buckets, const OpSeconds& seconds);

}  // namespace spire
