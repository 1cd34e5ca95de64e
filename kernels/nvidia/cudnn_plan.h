// Engine configurations of cuDNN, and execution plans: a graph made runnable by one engine.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/autotune/engine_choice.h"
#include "kernels/nvidia/cudnn.h"

namespace spire::inline kernels {

// Rules that an engine must keep to.
struct CudnnRules {
  bool tensor_cores = true;  // may be used: by 16-bit operands, and by fp32 ones as TF32
  size_t max_workspace = 0;  // bytes
};

// Returns the configurations that one of cuDNN's heuristics proposes for a graph, ranked by
// expected speed. All are deterministic plain sums of products of unchanged operands, in fp32.
std::vector<CudnnDescriptor> engine_configs(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t heuristic,
                                            const CudnnRules& rules);

// Write and read "engine 46 1=0 2=12": global index, then type and value of each knob, sorted.
// engine_config returns none if that is malformed, or no engine of the graph and the rules.
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

// An execution plan. Several kernels of a GPU may run one, each with its own variant pack, and on
// several threads if each pack has a handle of its own.
class CudnnPlan {
 public:
  // Returns none if this device cannot run the configuration, or not within the workspace. The
  // graph outlives the plan.
  static std::optional<CudnnPlan> make(const Cudnn& cudnn, CudnnDescriptor config,
                                       const CudnnRules& rules);
  // Returns plans of different engines: those of the heuristic for speed, then of the fallback.
  static std::vector<CudnnPlan> find(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                     const CudnnRules& rules, size_t most);

  // Returns the plan of an engine's name (engine()): from the store, unless null, under `name`;
  // else made anew. None if that is not possible.
  static std::optional<CudnnPlan> recall(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                         const std::string& engine, const CudnnRules& rules,
                                         PlanStore* store, const std::string& name);
  // Returns the plan of text(), of the same graph and engine. None if cuDNN refuses it.
  static std::optional<CudnnPlan> restore(const Cudnn& cudnn, CudnnDescriptor config,
                                          const std::string& text, const CudnnRules& rules);

  std::string engine() const { return engine_text(config_); }
  // Returns cuDNN's JSON with the compiled code, for this version of cuDNN and kind of GPU.
  std::string text() const;
  // Keeps the plan for later runs, under this name and the engine's, if the store is not null and
  // has a folder, and cuDNN can serialize the plan.
  void keep(PlanStore* store, const std::string& name) const;
  size_t workspace_bytes() const { return workspace_bytes_; }
  // ids, pointers: of the graph's tensors.
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

size_t largest_workspace(std::span<const CudnnPlan> plans);  // bytes, at least 1

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
