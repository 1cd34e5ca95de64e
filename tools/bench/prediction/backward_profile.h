// When, in a tower's backward, each bucket of gradients is complete: what decides how much of an
// exchange backward hides.
#pragma once
#include <functional>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/parameter_layout.h"
#include "engine/train/model_graph.h"
#include "engine/update/tree.h"
#include "tools/bench/report/bench_report.h"
#include "tools/performance/op_work.h"

namespace spire {

// Returns the seconds that an op takes; only ratios count.
using OpSeconds = std::function<double(const OpWork& work)>;

// Estimates them where no op was timed: the longer of FLOPs and bytes over the ceilings of one
// device, see op_work.h. REQUIRES: ceilings above 0 for the precision and for copies.
OpSeconds roofline_seconds(const Ceilings& ceilings, RunConfig::Precision precision);

// Returns for each bucket the share of backward's time, 0..1, after which it is complete: after the
// last node that reads or writes a gradient that begins before its end. The last bucket, which ends
// with the running statistics, is complete at 1.
std::vector<double> ready_shares(const LoweredGraph& lowered, const ParameterLayout& layout,
                                 const std::vector<FloatRange>& buckets, const OpSeconds& seconds);

}  // namespace spire
