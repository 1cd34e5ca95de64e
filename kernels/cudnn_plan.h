// A cuDNN graph made runnable: by which engine, and the tensors it is run with.
#pragma once
#include <spire/kernels/cudnn_engine.h>

namespace spire {

// The tensors of a run, kept as cuDNN takes them: a run with the same ones allocates nothing.
class CudnnPack {
 public:
  const CudnnDescriptor& with(std::span<const int64_t> ids, std::span<void* const> pointers,
                              void* workspace);

 private:
  std::vector<void*> packed_;            // the last run's pointers and workspace,
  std::optional<CudnnDescriptor> pack_;  // and they as cuDNN takes them
};

// Several kernels of a device may run one plan, each with a pack of its own.
class CudnnPlan {
 public:
  // None where this device cannot run the configuration, or not within the workspace. The graph
  // stays as long as the plan.
  static std::optional<CudnnPlan> make(const Cudnn& cudnn, CudnnDescriptor config,
                                       const CudnnRules& rules);
  // Plans of different engines for a graph, `most` of them at most: those of the heuristic for
  // speed, then those of the one that always finds something.
  static std::vector<CudnnPlan> find(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                     const CudnnRules& rules, size_t most);

  std::string engine() const { return engine_text(config_); }
  size_t workspace_bytes() const { return workspace_bytes_; }
  // The graph's tensors by their unique ids, and where they lie.
  void run(CudnnPack& pack, std::span<const int64_t> ids, std::span<void* const> pointers,
           void* workspace, void* stream) const;

 private:
  CudnnPlan(const Cudnn& cudnn, CudnnDescriptor config, CudnnDescriptor plan);

  const Cudnn* cudnn_;
  CudnnDescriptor config_, plan_;
  size_t workspace_bytes_;
};

// At least 1, so that it can be allocated.
size_t largest_workspace(std::span<const CudnnPlan> plans);

}  // namespace spire
