#include "engine/onnx/export_onnx.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/data/sample.h"
#include "engine/graph/passes.h"
#include "engine/onnx/emitters.h"
#include "engine/train/state_tensors.h"
#include "models/model.h"

namespace spire::inline onnx {
namespace {

// What a task is called in the file, and its output.
struct TaskWords {
  const char *task, *output;
};
TaskWords words_of(Task task) {
  switch (task) {
    case Task::classify:
      return {"classification", "logits"};
    case Task::regress:
      return {"regression", "values"};
    case Task::predict_tokens:
      return {"language_modeling", "logits"};
    case Task::reconstruct:
      return {"image_to_image", "reconstruction"};
  }
  fail(Category::unexpected, "unknown task");
}

// The graph of the model's output alone, in fp32 whatever the run computed in.
Graph inference_graph(const RunConfig& config, const SampleSpec& spec, int64_t batch) {
  ModelInput input{.columns = spec.columns, .classes = spec.classes, .batch = batch};
  for (Column& column : input.columns)
    if (is_float_type(column.dtype)) column.dtype = DType::f32;
  Graph graph = build_model(config.model, config.loss, input, false);
  graph.keep_output("output");
  remove_dead_nodes(graph);
  return graph;
}

OnnxGraph translate(const BatchGraphs& graphs, const OnnxOptions& options, Task task) {
  OnnxBuilder builder(graphs, options.opset);
  for (const Node& node : graphs.one.nodes()) {
    if (builder.is_defined(node.outputs[0])) continue;  // with the node before it
    auto emitters = onnx_emitters();
    auto found = std::ranges::find(emitters, node.op->name(), &OnnxEmitter::op);
    if (found == emitters.end())
      fail(Category::config, "[{}] has no form in ONNX here; it needs an emitter in engine/onnx",
           node.op->name());
    builder.begin(node);
    found->emit(builder, node);
  }
  return builder.finish(words_of(task).output, task == Task::reconstruct);
}

template <typename T>
std::string json_text(const T& value) {
  using Json = nlohmann::json;
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::pair<std::string, std::string>> metadata_of(const RunConfig& config,
                                                             const StateMetadata& state,
                                                             const SampleSpec& spec) {
  std::vector<std::pair<std::string, std::string>> entries = {
      {"task", words_of(task_of(config.model, spec.columns)).task},
      {"model", model_for(config.model, spec.columns)},
      {"step", std::to_string(state.step)}};
  const Normalization& normalization = spec.normalization;
  if (!normalization.mean.empty()) {
    entries.emplace_back("input.mean", json_text(normalization.mean));
    entries.emplace_back("input.stddev", json_text(normalization.stddev));
  }
  if (!spec.class_names.empty()) entries.emplace_back("classes", json_text(spec.class_names));
  if (!spec.feature_names.empty()) entries.emplace_back("features", json_text(spec.feature_names));
  return entries;
}

// What a reader has to know beside names and shapes.
std::string doc_of(const OnnxGraph& graph, const SampleSpec& spec, Task task) {
  std::string text = fmt::format("Input: {}", to_string(graph.input));
  if (graph.input.name == "images") text += ", pixels / 255";
  if (!spec.normalization.mean.empty())
    text += ", less input.mean and divided by input.stddev of the metadata, channel by channel";
  text += fmt::format(". Output: {}", to_string(graph.output));
  if (task == Task::classify || task == Task::predict_tokens)
    text += ", whose softmax is the probabilities";
  return text + ".";
}

// Where the tensors of the graph lie in a saved state.
class WeightSource {
 public:
  WeightSource(const std::vector<OnnxWeight>& weights, const SavedTensors& saved,
               std::optional<bool> averaged)
      : saved_(saved), groups_(saved.groups()) {
    auto average = averaged.value_or(true) ? find_slot(saved, average_slot) : std::nullopt;
    if (averaged == true && !average)
      fail(Category::checkpoint,
           "the checkpoint has no averaged weights, as its run did not set ema.decay; leave out "
           "--ema");
    averaged_ = average.has_value();
    size_t trained = average ? *average : find_weights(saved);
    for (const OnnxWeight& weight : weights) sources_.push_back(find(weight, trained));
  }

  bool averaged() const { return averaged_; }
  void read(size_t weight, int64_t begin, std::span<float> out) const {
    const Source& source = sources_[weight];
    saved_.read(source.group, source.tensor, begin, out);
  }

 private:
  struct Source {
    size_t group, tensor;
  };

  Source find(const OnnxWeight& weight, size_t trained) const {
    for (size_t group = 0; group < groups_.size(); ++group) {
      if (group != trained && groups_[group].path != states_group) continue;
      const auto& tensors = groups_[group].tensors;
      auto found = std::ranges::find(tensors, weight.name, &TensorEntry::name);
      if (found == tensors.end()) continue;
      if (found->shape == weight.shape)
        return {group, static_cast<size_t>(found - tensors.begin())};
      fail(Category::checkpoint,
           "'{}' has shape {} in the checkpoint, but {} in the model of its config; use another "
           "checkpoint",
           weight.name, to_string(found->shape), to_string(weight.shape));
    }
    fail(Category::checkpoint,
         "the checkpoint has no '{}', which the model of its config needs; use another checkpoint",
         weight.name);
  }

  const SavedTensors& saved_;
  std::vector<TensorGroup> groups_;
  std::vector<Source> sources_;
  bool averaged_ = false;
};

}  // namespace

std::string to_string(const OnnxTensor& tensor) {
  std::vector<std::string> dims;
  for (const OnnxDim& dim : tensor.dims) {
    std::string size = std::to_string(dim.size);
    dims.push_back(!dim.times_batch ? size : dim.size == 1 ? "batch" : size + " batch");
  }
  return fmt::format("{} {} ({})", tensor.name,
                     tensor.type == OnnxType::int64 ? "int64" : "float32", fmt::join(dims, ", "));
}

OnnxModel onnx_model(const RunConfig& config, const StateMetadata& state,
                     const OnnxOptions& options) {
  if (options.opset < min_opset || options.opset > max_opset)
    fail(Category::config, "opset {} is not supported; use {} to {}", options.opset, min_opset,
         max_opset);
  SampleSpec spec = sample_spec_from_text(state.data_spec);
  Task task = task_of(config.model, spec.columns);
  int64_t batch = options.batch > 0 ? options.batch : 1;
  Graph one = inference_graph(config, spec, batch);
  Graph two = inference_graph(config, spec, options.batch > 0 ? batch : batch + 1);
  OnnxModel model{.graph = translate({one, two}, options, task),
                  .opset = options.opset,
                  .producer_version = options.producer_version,
                  .doc = {},
                  .metadata = metadata_of(config, state, spec)};
  model.graph.name = model_for(config.model, spec.columns);
  model.doc = doc_of(model.graph, spec, task);
  return model;
}

ExportedOnnx export_onnx(const std::filesystem::path& path, const RunConfig& config,
                         const StateMetadata& state, const SavedTensors& tensors,
                         const OnnxOptions& options) {
  OnnxModel model = onnx_model(config, state, options);
  const OnnxGraph& graph = model.graph;
  WeightSource source(graph.weights, tensors, options.averaged);
  model.metadata.emplace_back("weights", source.averaged() ? "averaged" : "trained");
  auto read = [&](size_t weight, int64_t begin, std::span<float> out) {
    if (options.stop != nullptr && options.stop->load())
      fail(Category::interrupted, "{}: stopped by a signal before it was written", path.string());
    source.read(weight, begin, out);
  };
  ExportedOnnx exported{.input = graph.input,
                        .output = graph.output,
                        .file = write_onnx(path, model, read, options.file),
                        .tensors = graph.weights.size(),
                        .averaged = source.averaged()};
  for (const OnnxWeight& weight : graph.weights) exported.numbers += weight.shape.elements();
  return exported;
}

}  // namespace spire::inline onnx
