// Times of the kernels of a tower's training step, each beside its roofline. A tower is one of the
// shares of a global batch; a lane is the thread that runs towers on its device.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "tools/bench/report/bench_report.h"
#include "tools/performance/op_work.h"

namespace spire {

struct OpTimes {
  std::string device;           // "cpu:0"
  int64_t lanes = 1;            // of this process; each runs a tower at the same time
  int64_t threads = 1;          // of a CPU lane
  int64_t samples = 0;          // of a tower
  std::string precision;        // "bf16"
  int64_t repetitions = 0;      // timed runs of the whole step
  double flops_per_s = 0;       // ceiling of a lane: products in `precision`; 0: unknown
  double copy_bytes_per_s = 0;  // ceiling of a lane: bytes read plus written; 0: unknown
  std::vector<OpTime> ops;      // in the order in which they run
};

struct OpTimesOptions {
  int warmup = 2, repetitions = 10;  // steps: untimed ones first, then timed ones
};

// Trains steps of the run on its first batch, with a learning rate of 0, and takes from their trace
// (as `trainer train --timeline` does) the kernels of lane 0's first tower; an op's time is the
// median over the timed steps. On a GPU events measure the kernels; one shorter than its launch
// shows the time of the launch. Leaves out what is no kernel of the plan: sums of gradients,
// update, packing of weights, copies of the batch, metrics. ceilings: of the config's devices
// together. Throws the errors of train().
OpTimes time_ops(const RunConfig& config, const Ceilings& ceilings,
                 const OpTimesOptions& options = {});

// Returns the sums of each kind of op in each pass, and the ten ops that lose most against their
// roofline.
std::string to_text(const OpTimes& times);

}  // namespace spire
