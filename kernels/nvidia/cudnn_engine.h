// Engines of cuDNN: which it proposes for a graph, and how one is written down and found again.
#pragma once
#include <optional>
#include <string>

#include "kernels/nvidia/cudnn.h"

namespace spire::inline kernels {

// What an engine must keep to.
struct CudnnRules {
  bool tensor_cores = true;  // may be used: for 16-bit operands, and for fp32 ones as TF32
  size_t max_workspace = 0;
};

// Engine configurations that one of cuDNN's heuristics proposes for an operation graph, what it
// thinks the fastest first: those that give the same bits each time and add up products of the
// operands as they are in fp32. None by Winograd's or Fourier's transform, whose errors are not
// those of such a sum.
std::vector<CudnnDescriptor> engine_configs(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t heuristic,
                                            const CudnnRules& rules);

// A configuration as text: the engine's global index, then each knob's type and value in the order
// of their types: "engine 46 1=0 2=12". It means the same in one version of cuDNN.
std::string engine_text(const CudnnDescriptor& config);

// The configuration of such a text for a graph; none where the text is no such text, cuDNN has no
// such engine for the graph, or the engine does not keep to the rules.
std::optional<CudnnDescriptor> engine_config(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                             const std::string& text, const CudnnRules& rules);

}  // namespace spire::inline kernels
