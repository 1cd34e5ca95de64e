// Estimates the time of a training step on a GPU from its data sheet, by the roofline model:
//   time = max(FLOPs / (share * peak), bytes / (share * bandwidth)) + its launches
// Loading data, reductions between devices and partly filled grids are left out.
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/graph/graph.h"

namespace spire::inline run {

// Peaks of a data sheet.
struct DescribedGpu {
  std::string name;
  double tensor_tflops = 0;  // TFLOP/s, dense, of tensor cores: 16-bit operands, fp32 sums
  double fp32_tflops = 0;    // TFLOP/s without tensor cores
  double bandwidth = 0;      // of memory, GB/s
};
const std::vector<DescribedGpu>& described_gpus();
const DescribedGpu& described_gpu(const std::string& name);  // throws Error(config) if unknown

// Shares of the peaks that libraries are assumed to reach on large shapes.
struct ReachedShares {
  double product = 0.65, convolution = 0.5, attention = 0.4;  // of arithmetic; attention: of T x T
  double bandwidth = 0.8;
  double launch_seconds = 2e-6;  // of a kernel in a recorded graph
};

struct OpEstimate {
  std::string layer, op;  // the layer as `trainer plan` names it, where the op has or makes weights
  bool backward = false;
  double flops = 0, bytes = 0, seconds = 0;
};

struct StepEstimate {
  DescribedGpu gpu;
  ReachedShares shares;
  std::vector<OpEstimate> ops;  // in their order; the last one is the update
};

// slots: floats of optimizer state a parameter; packed: type of the weights that kernels read.
StepEstimate estimate_step(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                           int64_t slots, DType packed, const DescribedGpu& gpu);

// Estimates one tower's step of a run. Throws the errors of train() and described_gpu().
StepEstimate estimate_step(const RunConfig& config, const std::string& gpu);

// Returns the assumptions, the time by op and pass, the sum, and the ten longest ops.
std::string to_text(const StepEstimate& estimate);

}  // namespace spire::inline run
