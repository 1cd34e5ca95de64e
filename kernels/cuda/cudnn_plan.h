// cuDNN's engine configurations and execution plans. An execution plan is a cuDNN graph made
// runnable by one engine; it is no Plan of graph/plan.h.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/engine_choice.h"

namespace spire {

// Rules that an engine must keep to.
struct CudnnRules {
  bool tensor_cores = true;  // engines may use them, for fp32 operands as TF32
  size_t max_workspace = 0;  // bytes
};

// Returns the configurations that one of cuDNN's heuristics proposes for a graph, ranked by
// expected speed. All are deterministic and compute fp32 sums of products of the operands
// themselves (no FFT, no Winograd, no rounding of operands).
std::vector<CudnnDescriptor> engine_configs(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t heuristic,
                                            const CudnnRules& rules);

// Write and read "engine 46 1=0 2=12": cuDNN's global index of the engine, then type and value of
// each of its knobs, sorted. engine_config returns none if the text is malformed, or names no
// engine that fits the graph and the rules.
std::string engine_text(const CudnnDescriptor& config);
std::optional<CudnnDescriptor> engine_config(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                             const std::string& text, const CudnnRules& rules);

// cuDNN's variant pack (the pointers of a run), cached: the same pointers again allocate nothing.
class CudnnVariantPack {
 public:
  CudnnVariantPack() = default;  // runs use the handle that their plan was made with
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

// An execution plan. Several kernels of a GPU may run the same plan, each with its own variant
// pack, and on several threads if each pack has its own handle.
class CudnnPlan {
 public:
  // Returns none if this device cannot run the configuration, or needs more workspace than the
  // rules allow. REQUIRES: the graph outlives the plan.
  static std::optional<CudnnPlan> make(const Cudnn& cudnn, CudnnDescriptor config,
                                       const CudnnRules& rules);
  // Returns at most `most` plans, of different engines: first those that cuDNN's heuristic for
  // speed proposes, then those of its fallback heuristic.
  static std::vector<CudnnPlan> find(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                     const CudnnRules& rules, size_t most);

  // Returns the plan of the engine with this name (as engine() returns it): from the store, if that
  // is not null and has it under `name`; else made anew. None if that is not possible.
  static std::optional<CudnnPlan> recall(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                         const std::string& engine, const CudnnRules& rules,
                                         PlanStore* store, const std::string& name);
  // Returns the plan from its text(), given the same graph and engine. None if cuDNN refuses it.
  static std::optional<CudnnPlan> restore(const Cudnn& cudnn, CudnnDescriptor config,
                                          const std::string& text, const CudnnRules& rules);

  std::string engine() const { return engine_text(config_); }
  // Returns cuDNN's JSON with the compiled code, for this version of cuDNN and kind of GPU.
  std::string text() const;
  // Keeps the plan for later runs, under this name and the engine's. Does nothing if the store is
  // null or has no folder, or if cuDNN cannot serialize the plan.
  void keep(PlanStore* store, const std::string& name) const;
  size_t workspace_bytes() const { return workspace_bytes_; }
  // ids, pointers: those of the graph's tensors in memory.
  void run(CudnnVariantPack& pack, std::span<const int64_t> ids, std::span<void* const> pointers,
           void* workspace, void* stream) const;

 private:
  static std::optional<CudnnPlan> finished(const Cudnn& cudnn, CudnnDescriptor config,
                                           CudnnDescriptor plan, const CudnnRules& rules);
  CudnnPlan(const Cudnn& cudnn, CudnnDescriptor config, CudnnDescriptor plan);

  const Cudnn* cudnn_;
  CudnnDescriptor config_, plan_;
  size_t workspace_bytes_;
  // So that plans can be moved.
  std::unique_ptr<std::mutex> launching_ = std::make_unique<std::mutex>();
};

size_t largest_workspace(std::span<const CudnnPlan> plans);  // bytes, at least 1

// cuDNN's engines for one graph, to choose from.
class CudnnEngines : public Engines {
 public:
  // cudnn, graph and store outlive the engines. name: the operation's, in the store.
  CudnnEngines(const Cudnn& cudnn, const CudnnDescriptor& graph, const CudnnRules& rules,
               PlanStore* store, std::string name, EngineTrials<CudnnPlan> trials)
      : cudnn_(cudnn),
        graph_(graph),
        rules_(rules),
        store_(store),
        name_(std::move(name)),
        trials_(std::move(trials)) {}

  bool recall(const std::string& name) override;
  size_t propose(size_t most) override;
  std::optional<float> time(size_t index) override { return trials_.time(proposed_[index]); }
  bool repeats(size_t index) override { return trials_.repeats(proposed_[index]); }
  std::string select(size_t index) override;

  std::span<const CudnnPlan> proposed() const { return proposed_; }
  std::optional<CudnnPlan> take_selected() { return std::move(selected_); }

 private:
  const Cudnn& cudnn_;
  const CudnnDescriptor& graph_;
  CudnnRules rules_;
  PlanStore* store_;
  std::string name_;
  EngineTrials<CudnnPlan> trials_;
  std::vector<CudnnPlan> proposed_;
  std::optional<CudnnPlan> selected_;
};

}  // namespace spire
