// A cuDNN execution plan: a graph made runnable by one engine. Also plans as engines to choose
// from.
#pragma once
#include <functional>
#include <memory>
#include <mutex>

#include "kernels/autotune/engine_choice.h"
#include "kernels/nvidia/cudnn_engine.h"

namespace spire::inline kernels {

// cuDNN's variant pack, the pointers of a run, cached: a run with the same pointers allocates
// nothing.
class CudnnVariantPack {
 public:
  // Runs use the handle that their plan was made with.
  CudnnVariantPack() = default;
  // Runs use this handle, of the same GPU: another thread may run the plan at the same time.
  explicit CudnnVariantPack(const Cudnn& cudnn) : cudnn_(&cudnn) {}

  const Cudnn* cudnn() const { return cudnn_; }
  const CudnnDescriptor& bind(std::span<const int64_t> ids, std::span<void* const> pointers,
                              void* workspace);

 private:
  const Cudnn* cudnn_ = nullptr;
  std::vector<void*> bound_;             // pointers and workspace of the last run
  std::optional<CudnnDescriptor> pack_;  // the same as cuDNN's descriptor
};

// Several kernels of a GPU may run one plan, each with its own variant pack, on threads of their
// own if the packs have handles of their own. cuDNN does not promise that two threads may execute a
// plan at once, so launches take turns; the work on the GPU does not.
class CudnnPlan {
 public:
  // None if this device cannot run the configuration, or not within the workspace. The graph
  // outlives the plan.
  static std::optional<CudnnPlan> make(const Cudnn& cudnn, CudnnDescriptor config,
                                       const CudnnRules& rules);
  // Returns plans of different engines: those of the heuristic for speed, then of the fallback.
  static std::vector<CudnnPlan> find(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                     const CudnnRules& rules, size_t most);

  // Returns the plan of an engine's name (engine()): from the store, under `name`, else (or if
  // store is null) made anew. None if that is not possible.
  static std::optional<CudnnPlan> recall(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                         const std::string& engine, const CudnnRules& rules,
                                         PlanStore* store, const std::string& name);
  // Reads a plan from text(), of the same graph and engine. None if cuDNN refuses it.
  static std::optional<CudnnPlan> restore(const Cudnn& cudnn, CudnnDescriptor config,
                                          const std::string& text, const CudnnRules& rules);

  std::string engine() const { return engine_text(config_); }
  // Returns cuDNN's JSON with the compiled code, for this version of cuDNN and kind of GPU.
  std::string text() const;
  // Keeps the plan for later runs, under this name and the engine's. Does nothing if the store is
  // null or has no folder, or cuDNN cannot serialize the plan.
  void keep(PlanStore* store, const std::string& name) const;
  size_t workspace_bytes() const { return workspace_bytes_; }
  // ids, pointers: unique ids of the graph's tensors, and their addresses.
  void run(CudnnVariantPack& pack, std::span<const int64_t> ids, std::span<void* const> pointers,
           void* workspace, void* stream) const;

 private:
  static std::optional<CudnnPlan> finished(const Cudnn& cudnn, CudnnDescriptor config,
                                           CudnnDescriptor plan, const CudnnRules& rules);
  CudnnPlan(const Cudnn& cudnn, CudnnDescriptor config, CudnnDescriptor plan);

  const Cudnn* cudnn_;
  CudnnDescriptor config_, plan_;
  size_t workspace_bytes_;
  std::unique_ptr<std::mutex> launching_ = std::make_unique<std::mutex>();  // so that plans move
};

// Returns the largest workspace in bytes, at least 1, so that it can be allocated.
size_t largest_workspace(std::span<const CudnnPlan> plans);

// cuDNN's engines for one graph, to choose from.
class CudnnEngines : public Engines {
 public:
  // Returns the time of one run of a plan, as Engines::time.
  using Time = std::function<std::optional<float>(const CudnnPlan& plan)>;

  // cudnn, graph and store outlive the engines. name: of the operation in the store.
  CudnnEngines(const Cudnn& cudnn, const CudnnDescriptor& graph, const CudnnRules& rules,
               PlanStore* store, std::string name, Time time)
      : cudnn_(cudnn),
        graph_(graph),
        rules_(rules),
        store_(store),
        name_(std::move(name)),
        time_(std::move(time)) {}

  bool recall(const std::string& name) override;
  size_t propose(size_t most) override;
  std::optional<float> time(size_t index) override { return time_(proposed_[index]); }
  std::string select(size_t index) override;

  std::span<const CudnnPlan> proposed() const { return proposed_; }
  // Moves the selected plan out.
  std::optional<CudnnPlan> take_selected() { return std::move(selected_); }

 private:
  const Cudnn& cudnn_;
  const CudnnDescriptor& graph_;
  CudnnRules rules_;
  PlanStore* store_;
  std::string name_;
  Time time_;
  std::vector<CudnnPlan> proposed_;
  std::optional<CudnnPlan> selected_;
};

}  // namespace spire::inline kernels
