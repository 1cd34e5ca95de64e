#include "kernels/cuda/cudnn_plan.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "engine/base/fail.h"

namespace spire {
namespace {

// Engines say how they compute by notes. Those refused here change bits from run to run, round
// operands or partial sums, or (Winograd's and Fourier's transforms) round unlike a plain sum.
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

CudnnDescriptor engine_of(const CudnnDescriptor& config) {
  auto engines = config.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  return std::move(engines.at(0));
}

bool keeps_to(const CudnnRules& rules, const CudnnDescriptor& engine) {
  auto notes = engine.all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                       CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  return std::all_of(notes.begin(), notes.end(), [&](auto note) { return keeps_to(rules, note); });
}

using Knobs = std::map<int, int64_t>;  // value by type, sorted: equal configurations, equal text

struct Engine {
  int64_t index = 0;
  Knobs knobs;
};

template <typename T>
bool read_number(std::string_view word, T& value) {
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

// Parses "engine 46 1=0 2=12".
std::optional<Engine> read_engine(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  Engine engine;
  if (!(words >> word) || word != "engine") return std::nullopt;
  if (!(words >> word) || !read_number(word, engine.index)) return std::nullopt;
  while (words >> word) {
    size_t equals = word.find('=');
    int type = 0;
    int64_t value = 0;
    if (equals == std::string::npos ||
        !read_number(std::string_view(word).substr(0, equals), type) ||
        !read_number(std::string_view(word).substr(equals + 1), value))
      return std::nullopt;
    engine.knobs[type] = value;
  }
  return engine;
}

}  // namespace

std::vector<CudnnDescriptor> engine_configs(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t heuristic,
                                            const CudnnRules& rules) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.link(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, heuristic);
  cudnn.set_properties(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  if (!heuristics.try_finalize()) return {};  // does not know such a graph
  auto configs =
      heuristics.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  std::erase_if(configs,
                [&](const CudnnDescriptor& config) { return !keeps_to(rules, engine_of(config)); });
  return configs;
}

std::string engine_text(const CudnnDescriptor& config) {
  std::string text =
      fmt::format("engine {}", engine_of(config).value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  Knobs knobs;
  for (const CudnnDescriptor& knob :
       config.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                          CUDNN_KNOB_TYPE_COUNTS)) {
    auto type = knob.value<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
    knobs[static_cast<int>(type)] = knob.value<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
  }
  for (auto [type, value] : knobs) text += fmt::format(" {}={}", type, value);
  return text;
}

std::optional<CudnnDescriptor> engine_config(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                             const std::string& text, const CudnnRules& rules) {
  auto read = read_engine(text);
  if (!read) return std::nullopt;
  // The engine.
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR),
      config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  engine.link(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  cudnn.set_properties(engine, CUDNN_ATTR_ENGINE_DEVICEPROP);
  if (!engine.try_set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, read->index)) return std::nullopt;
  if (!engine.try_finalize() || !keeps_to(rules, engine)) return std::nullopt;
  // Its knobs.
  std::vector<CudnnDescriptor> knobs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (auto [type, value] : read->knobs) {
    CudnnDescriptor& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    if (!knob.try_set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                      static_cast<cudnnBackendKnobType_t>(type)) ||
        !knob.try_set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value) || !knob.try_finalize())
      return std::nullopt;
    raw.push_back(knob.get());
  }
  config.link(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!raw.empty()) config.link_all(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, raw);
  if (!config.try_finalize()) return std::nullopt;
  return config;
}

namespace {

CudnnDescriptor empty_plan(const Cudnn& cudnn) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  cudnn.set_handle(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  cudnn.set_properties(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  return plan;
}

// Returns the name of a plan in the store.
std::string name_with(const std::string& name, const std::string& engine) {
  return fmt::format("{}, {}", name, engine);
}

}  // namespace

const CudnnDescriptor& CudnnVariantPack::bind(std::span<const int64_t> ids,
                                              std::span<void* const> pointers, void* workspace) {
  bool same = pack_ && bound_.size() == pointers.size() + 1 && bound_.back() == workspace &&
              std::equal(pointers.begin(), pointers.end(), bound_.begin());
  if (same) return *pack_;
  pack_.emplace(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack_->set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack_->set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
  pack_->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  pack_->finalize();
  bound_.assign(pointers.begin(), pointers.end());
  bound_.push_back(workspace);
  return *pack_;
}

CudnnPlan::CudnnPlan(const Cudnn& cudnn, CudnnDescriptor config, CudnnDescriptor plan)
    : cudnn_(&cudnn),
      config_(std::move(config)),
      plan_(std::move(plan)),
      workspace_bytes_(
          static_cast<size_t>(plan_.value<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE))) {}

std::optional<CudnnPlan> CudnnPlan::make(const Cudnn& cudnn, CudnnDescriptor config,
                                         const CudnnRules& rules) {
  CudnnDescriptor plan = empty_plan(cudnn);
  plan.link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  return finished(cudnn, std::move(config), std::move(plan), rules);
}

std::optional<CudnnPlan> CudnnPlan::restore(const Cudnn& cudnn, CudnnDescriptor config,
                                            const std::string& text, const CudnnRules& rules) {
  CudnnDescriptor plan = empty_plan(cudnn);
  try {
    plan.set_all(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                 std::span<const char>(text.data(), text.size()));
  } catch (const Error&) {
    return std::nullopt;
  }
  return finished(cudnn, std::move(config), std::move(plan), rules);
}

// Finalizing compiles the engine's code and may take a second.
std::optional<CudnnPlan> CudnnPlan::finished(const Cudnn& cudnn, CudnnDescriptor config,
                                             CudnnDescriptor plan, const CudnnRules& rules) {
  if (!plan.try_finalize()) return std::nullopt;
  CudnnPlan made(cudnn, std::move(config), std::move(plan));
  if (made.workspace_bytes() > rules.max_workspace) return std::nullopt;
  return made;
}

std::optional<CudnnPlan> CudnnPlan::recall(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                           const std::string& engine, const CudnnRules& rules,
                                           PlanStore* store, const std::string& name) {
  auto config = engine_config(cudnn, graph, engine, rules);
  if (!config) return std::nullopt;
  if (auto text = store ? store->find(name_with(name, engine)) : std::nullopt) {
    if (auto plan = restore(cudnn, std::move(*config), *text, rules)) return plan;
    store->count_damaged();
    // restore() took the configuration.
    config = engine_config(cudnn, graph, engine, rules);
  }
  auto plan = make(cudnn, std::move(*config), rules);
  if (plan) plan->keep(store, name);
  return plan;
}

void CudnnPlan::keep(PlanStore* store, const std::string& name) const {
  if (!store || !store->keeps()) return;
  try {
    store->keep(name_with(name, engine()), text());
  } catch (const Error& error) {
    // Some engines cannot be serialized; later runs make them anew.
    if (error.category() != Category::device) throw;
  }
}

std::string CudnnPlan::text() const {
  constexpr auto json = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
  auto characters = plan_.all<char>(json, plan_.count<char>(json));
  return {characters.begin(), characters.end()};
}

std::vector<CudnnPlan> CudnnPlan::find(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                       const CudnnRules& rules, size_t most) {
  std::vector<CudnnPlan> found;
  std::vector<std::string> tried;
  for (auto heuristic : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (found.size() == most) break;
    for (const CudnnDescriptor& proposed : engine_configs(cudnn, graph, heuristic, rules)) {
      std::string text = engine_text(proposed);
      if (std::find(tried.begin(), tried.end(), text) != tried.end()) continue;
      tried.push_back(text);
      // The plan is made from the text, not the proposal: so it equals the one that a later run
      // makes, which has only the text.
      auto config = engine_config(cudnn, graph, text, rules);
      if (!config) continue;
      if (auto plan = make(cudnn, std::move(*config), rules)) found.push_back(std::move(*plan));
      if (found.size() == most) break;
    }
  }
  return found;
}

void CudnnPlan::run(CudnnVariantPack& pack, std::span<const int64_t> ids,
                    std::span<void* const> pointers, void* workspace, void* stream) const {
  const CudnnDescriptor& tensors = pack.bind(ids, pointers, workspace);
  cudnnHandle_t handle = (pack.cudnn() ? pack.cudnn() : cudnn_)->handle;
  // cuDNN does not promise that two threads may execute a plan at once, so launches take turns; the
  // work on the GPU does not.
  std::lock_guard lock(*launching_);
  check_cudnn(cudnn_calls().set_stream(handle, static_cast<cudaStream_t>(stream)),
              "cudnnSetStream");
  check_cudnn(cudnn_calls().execute(handle, plan_.get(), tensors.get()), "cudnnBackendExecute");
}

size_t largest_workspace(std::span<const CudnnPlan> plans) {
  size_t bytes = 1;
  for (const CudnnPlan& plan : plans) bytes = std::max(bytes, plan.workspace_bytes());
  return bytes;
}

bool CudnnEngines::recall(const std::string& name) {
  selected_ = CudnnPlan::recall(cudnn_, graph_, name, rules_, store_, name_);
  return selected_.has_value();
}

size_t CudnnEngines::propose(size_t most) {
  proposed_ = CudnnPlan::find(cudnn_, graph_, rules_, most);
  return proposed_.size();
}

// Only the selected plan goes to the store: plans hold compiled code.
std::string CudnnEngines::select(size_t index) {
  selected_ = std::move(proposed_[index]);
  selected_->keep(store_, name_);
  return selected_->engine();
}

}  // namespace spire
