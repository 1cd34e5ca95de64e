// Estimates the time of a training step on a GPU from its data sheet, by the roofline model:
//   time of an op = max(FLOPs / (share * peak), bytes / (share * bandwidth)) + kernel launches
// Loading data, reductions between devices and partly filled grids are left out.
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "tools/performance/op_work.h"

namespace spire {

// A GPU's peak rates, from its data sheet.
struct DescribedGpu {
  std::string name;
  double tensor_tflops = 0;  // tensor cores, dense: 16-bit operands, fp32 sums
  double fp32_tflops = 0;    // without tensor cores
  double bandwidth = 0;      // GB/s of its memory
};
const std::vector<DescribedGpu>& described_gpus();
const DescribedGpu& described_gpu(const std::string& name);  // throws Error(config) if unknown

// Shares of the peaks that libraries are assumed to reach for large shapes. The FLOPs of attention
// are those of all T x T scores, also of masked ones.
struct ReachedShares {
  double product = 0.65, convolution = 0.5, attention = 0.4;  // of the FLOPs per second
  double bandwidth = 0.8;
  double launch_seconds = 2e-6;  // per kernel in a recorded CUDA graph
};

struct StepEstimate {
  DescribedGpu gpu;
  ReachedShares shares;
  std::vector<OpTime> ops;  // in the graph's order, then the update of weights
};

// slots: floats of optimizer state per weight. packed: dtype of the weights that kernels read.
StepEstimate estimate_step(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                           int64_t slots, DType packed, const DescribedGpu& gpu);

// Estimates the step of one tower of a run. Throws the errors of train() and described_gpu().
StepEstimate estimate_step(const RunConfig& config, const std::string& gpu);

// Returns the assumptions, the time per kind of op and pass, their sum, and the ten longest ops.
std::string to_text(const StepEstimate& estimate);

}  // namespace spire
