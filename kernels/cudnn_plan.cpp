#include <spire/kernels/cudnn_plan.h>

#include <algorithm>

namespace spire {
namespace {

bool keeps_to(const CudnnRules& rules, cudnnBackendNumericalNote_t note) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
    case CUDNN_NUMERICAL_NOTE_FFT:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      return false;
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      return rules.tensor_cores;
    default:
      return true;
  }
}

bool keeps_to(const CudnnRules& rules, const CudnnDescriptor& config) {
  auto engines = config.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  auto notes = engines.at(0).all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                              CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  return std::all_of(notes.begin(), notes.end(), [&](auto note) { return keeps_to(rules, note); });
}

CudnnDescriptor pack(std::span<const int64_t> ids, std::span<void* const> pointers,
                     void* workspace) {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  pack.finalize();
  return pack;
}

}  // namespace

std::vector<CudnnDescriptor> engine_configs(const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t heuristic,
                                            const CudnnRules& rules) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.link(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, heuristic);
  if (!heuristics.try_finalize()) return {};  // knows nothing of such a graph
  auto configs =
      heuristics.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  std::erase_if(configs, [&](const CudnnDescriptor& config) { return !keeps_to(rules, config); });
  return configs;
}

std::optional<CudnnPlan> CudnnPlan::choose(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                           const CudnnRules& rules) {
  for (auto heuristic : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnDescriptor& config : engine_configs(graph, heuristic, rules)) {
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, cudnn.handle);
      plan.link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (!plan.try_finalize()) continue;
      CudnnPlan chosen(cudnn, std::move(config), std::move(plan));
      if (chosen.workspace_bytes() <= rules.most_workspace) return chosen;
    }
  }
  return std::nullopt;
}

size_t CudnnPlan::workspace_bytes() const {
  return static_cast<size_t>(plan_.value<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
}

void CudnnPlan::run(std::span<const int64_t> ids, std::span<void* const> pointers, void* workspace,
                    void* stream) {
  bool same = pack_ && packed_.back() == workspace &&
              std::equal(pointers.begin(), pointers.end(), packed_.begin(), packed_.end() - 1);
  if (!same) {
    pack_ = pack(ids, pointers, workspace);
    packed_.assign(pointers.begin(), pointers.end());
    packed_.push_back(workspace);
  }
  check_cudnn(cudnnSetStream(cudnn_->handle, static_cast<cudaStream_t>(stream)), "cudnnSetStream");
  check_cudnn(cudnnBackendExecute(cudnn_->handle, plan_.get(), pack_->get()),
              "cudnnBackendExecute");
}

}  // namespace spire
