// Engine configurations of cuDNN: proposals for a graph, and their form as text.
#pragma once
#include <optional>
#include <string>

#include "kernels/nvidia/cudnn.h"

namespace spire::inline kernels {

// Rules that an engine must keep to.
struct CudnnRules {
  bool tensor_cores = true;  // may be used: by 16-bit operands, and by fp32 ones as TF32
  size_t max_workspace = 0;  // bytes
};

// Returns the configurations that one of cuDNN's heuristics proposes for an operation graph, ranked
// by expected speed. All are deterministic and sum products of unchanged operands in fp32. None
// uses Winograd's or Fourier's transform, whose rounding errors differ from those of a plain sum.
std::vector<CudnnDescriptor> engine_configs(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t heuristic,
                                            const CudnnRules& rules);

// "engine 46 1=0 2=12": global index, then type and value of each knob, sorted; for one version of
// cuDNN. engine_config reads it: none if it is malformed, or no engine of the graph and the rules.
std::string engine_text(const CudnnDescriptor& config);
std::optional<CudnnDescriptor> engine_config(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                             const std::string& text, const CudnnRules& rules);

}  // namespace spire::inline kernels
