// How long a step would take on a GPU that is only described: an estimate from each op's
// multiply-adds and bytes, of the training graph as it runs, and nothing that was measured.
//   time of an op = max(FLOPs / (share * peak), bytes / (share * bandwidth)) + its launches
// It leaves out what one graph does not show: data, reductions between devices, tails of grids.
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/graph/graph.h"

namespace spire::inline run {

// Peaks of a data sheet. TFLOP/s dense: of tensor cores with 16-bit operands and fp32 sums, and of
// fp32 without them; memory in GB/s.
struct DescribedGpu {
  std::string name;
  double tensor_tflops = 0, fp32_tflops = 0, bandwidth = 0;
};
const std::vector<DescribedGpu>& described_gpus();
// Throws Error(config), naming those that are known.
const DescribedGpu& described_gpu(const std::string& name);

// What part of the peaks is reached: assumptions, about what libraries reach on large shapes.
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

// graph: of training, differentiated, as it would be compiled. slots: of the optimizer, floats a
// parameter. The update reads gradients twice (norm, update), reads and writes weights and slots,
// and packs the weights anew where `packed` is a 16-bit type.
StepEstimate estimate_step(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                           int64_t slots, DType packed, const DescribedGpu& gpu);

// Of one tower's step of that run. Throws what train() throws of the config and the data, and as
// described_gpu().
StepEstimate estimate_step(const RunConfig& config, const std::string& gpu);

// Assumptions, time by op and pass, the ten longest ops, and the sum.
std::string to_text(const StepEstimate& estimate);

}  // namespace spire::inline run
