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

struct OpTime : OpWork {
  double seconds = 0;  // median over the repetitions
  // max(flops / product ceiling, bytes / copy ceiling) of a lane; 0 where no ceiling was measured
  double roofline_seconds = 0;
  double lost_seconds() const { return seconds - roofline_seconds; }  // < 0: data was in a cache
};

struct OpTimes {
  std::string device;           // "cpu:0"
  int64_t lanes = 1;            // of this process, which all run a tower at the same time
  int64_t threads = 1;          // of a lane on a CPU
  int64_t samples = 0;          // of a tower
  std::string precision;        // "bf16"
  int64_t repetitions = 0;      // timed runs of the whole step
  double flops_per_s = 0;       // ceilings of one lane: of products in `precision`,
  double copy_bytes_per_s = 0;  // of copies: bytes read and bytes written; 0: not measured
  std::vector<OpTime> ops;      // in the order in which they run
};

struct OpTimesOptions {
  int warmup = 2, repetitions = 10;  // runs of the whole step: before those that are timed, timed
};

// Runs forward and backward of one tower on every lane of this process at the same time, kernel by
// kernel, on the run's first batch and initial weights, and times lane 0. On a GPU events measure
// the kernels; one shorter than its launch shows the time of the launch. Leaves out what is no
// kernel of the plan: sums of gradients, update, packing of weights, copies of the batch, metrics.
// ceilings: of the config's devices together. Throws the errors of train().
OpTimes time_ops(const RunConfig& config, const Ceilings& ceilings,
                 const OpTimesOptions& options = {});

// Returns the sums of each kind of op in each pass, and the ten ops that lose most against their
// roofline.
std::string to_text(const OpTimes& times);

}  // namespace spire
