// A cuDNN graph made runnable: by which engine, and the tensors it is run with.
#pragma once
#include <memory>
#include <mutex>

#include "kernels/autotune/tuning.h"
#include "kernels/nvidia/cudnn_engine.h"

namespace spire::inline kernels {

// The tensors of a run, kept as cuDNN takes them: a run with the same ones allocates nothing.
class CudnnPack {
 public:
  // Runs have the handle that their plan was made with.
  CudnnPack() = default;
  // Runs have this handle, of the same GPU, as another thread may run the plan at the same time.
  explicit CudnnPack(const Cudnn& cudnn) : cudnn_(&cudnn) {}

  const Cudnn* cudnn() const { return cudnn_; }
  const CudnnDescriptor& with(std::span<const int64_t> ids, std::span<void* const> pointers,
                              void* workspace);

 private:
  const Cudnn* cudnn_ = nullptr;
  std::vector<void*> packed_;            // the last run's pointers and workspace,
  std::optional<CudnnDescriptor> pack_;  // and they as cuDNN takes them
};

// Several kernels of a GPU may run one plan, each with a pack of its own, on threads of their own
// where the packs have handles of their own. cuDNN does not promise that a plan may be executed by
// two threads at a time, so they take turns: for as long as a launch takes, not for its work.
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

  // That of an engine's name (engine()), as it was kept under `name` where there is one in the
  // store, else made; none where neither can be. store null: it is made.
  static std::optional<CudnnPlan> recall(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                         const std::string& engine, const CudnnRules& rules,
                                         PlanStore* store, const std::string& name);
  // From text(), for the same graph and engine. None where cuDNN does not take it.
  static std::optional<CudnnPlan> restore(const Cudnn& cudnn, CudnnDescriptor config,
                                          const std::string& text, const CudnnRules& rules);

  std::string engine() const { return engine_text(config_); }
  // cuDNN's JSON of it, with the code that was compiled for it: for this version and kind of GPU.
  std::string text() const;
  // For later runs to recall, by this name and the engine's. They will not where the store is null
  // or has no folder, nor where cuDNN cannot write the plan down.
  void keep(PlanStore* store, const std::string& name) const;
  size_t workspace_bytes() const { return workspace_bytes_; }
  // The graph's tensors by their unique ids, and where they lie.
  void run(CudnnPack& pack, std::span<const int64_t> ids, std::span<void* const> pointers,
           void* workspace, void* stream) const;

 private:
  static std::optional<CudnnPlan> finished(const Cudnn& cudnn, CudnnDescriptor config,
                                           CudnnDescriptor plan, const CudnnRules& rules);
  CudnnPlan(const Cudnn& cudnn, CudnnDescriptor config, CudnnDescriptor plan);

  const Cudnn* cudnn_;
  CudnnDescriptor config_, plan_;
  size_t workspace_bytes_;
  std::unique_ptr<std::mutex> launching_ = std::make_unique<std::mutex>();
};

// At least 1, so that it can be allocated.
size_t largest_workspace(std::span<const CudnnPlan> plans);

}  // namespace spire::inline kernels
