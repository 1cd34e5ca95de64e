#include "kernels/nvidia/cudnn_engine.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include <spire/error.h>

namespace spire::inline kernels {
namespace {

// Engines say how they compute by notes. Those refused here change bits from run to run, round
// operands or partial sums, or have errors unlike those of a plain sum.
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

}  // namespace spire::inline kernels
