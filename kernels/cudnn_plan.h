// A cuDNN graph made runnable: which engine computes it, and the tensors it is run with.
#pragma once
#include <optional>

#include <spire/kernels/cudnn.h>

namespace spire {

// What an engine must keep to.
struct CudnnRules {
  bool tensor_cores = true;  // may be used: for 16-bit operands, and for fp32 ones as TF32
  size_t most_workspace = 0;
};

// Engine configurations that one of cuDNN's heuristics proposes for an operation graph, what it
// thinks the quickest first: those that give the same bits each time and add up products of the
// operands as they are in fp32. None by Winograd's or Fourier's transform, whose errors are not
// those of such a sum.
std::vector<CudnnDescriptor> engine_configs(const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t heuristic,
                                            const CudnnRules& rules);

class CudnnPlan {
 public:
  // Of the first configuration that this device can run within the workspace, by the heuristic for
  // speed or, where that has none, the one that always finds something; none where neither has.
  // `graph` stays as long as the plan.
  static std::optional<CudnnPlan> choose(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                         const CudnnRules& rules);

  size_t workspace_bytes() const;
  // The graph's tensors by their unique ids, and where they lie. Allocates nothing if they lie
  // where they did the last time.
  void run(std::span<const int64_t> ids, std::span<void* const> pointers, void* workspace,
           void* stream);

 private:
  CudnnPlan(const Cudnn& cudnn, CudnnDescriptor config, CudnnDescriptor plan)
      : cudnn_(&cudnn), config_(std::move(config)), plan_(std::move(plan)) {}

  const Cudnn* cudnn_;
  CudnnDescriptor config_, plan_;
  std::vector<void*> packed_;            // the last run's pointers and workspace,
  std::optional<CudnnDescriptor> pack_;  // and they as cuDNN takes them
};

}  // namespace spire
