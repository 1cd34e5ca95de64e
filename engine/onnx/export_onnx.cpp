#include "engine/onnx/export_onnx.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/data/sample.h"
#include "engine/graph/passes.h"
#include "engine/onnx/emitters.h"
#include "engine/onnx/export_job.h"
#include "engine/weights/names/name_table.h"
#include "models/model.h"

namespace spire {
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
    case Task::segment:
      return {"segmentation", "logits"};
    case Task::custom:  // no model that a config names
      break;
  }
  fail(Category::unexpected, "unknown task");
}

// The graph of the model's output alone.
Graph output_graph(const RunConfig& config, const SampleSpec& spec, int64_t batch) {
  Graph graph = inference_graph(config, spec, batch);
  graph.keep_output("output");
  remove_dead_nodes(graph);
  return graph;
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

// Picks the graph's weights, in its order. before_reading: is called before each part is read.
std::vector<TensorToWrite> weights_of(const OnnxGraph& graph, std::vector<TensorToWrite> tensors,
                                      const std::function<void()>& before_reading) {
  std::vector<TensorToWrite> weights;
  for (const OnnxWeight& weight : graph.weights) {
    auto found = std::ranges::find(tensors, weight.name, &TensorToWrite::name);
    require(found != tensors.end() && found->shape == weight.shape, "{}: no such weight",
            weight.name);
    auto read = [=, of_file = std::move(found->read)](int64_t begin, std::span<float> out) {
      before_reading();
      of_file(begin, out);
    };
    weights.push_back({weight.name, weight.shape, read});
  }
  return weights;
}

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
  Graph one = output_graph(config, spec, batch);
  Graph two = output_graph(config, spec, options.batch > 0 ? batch : batch + 1);
  OnnxModel model{
      .graph = to_onnx({one, two}, options.opset, words_of(task).output, task == Task::reconstruct),
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
  bool averaged = takes_average(tensors, options.averaged);
  model.metadata.emplace_back("weights", averaged ? "averaged" : "trained");
  Graph own = inference_graph(config, sample_spec_from_text(state.data_spec), 1);
  NameTable names = name_table(WeightNames::spire, config.model, own);
  auto stop_if_asked = [&] {
    if (options.stop != nullptr && options.stop->load())
      fail(Category::interrupted, "{}: stopped by a signal before it was written", path.string());
  };
  auto weights = weights_of(graph, tensors_to_write(names, tensors, averaged), stop_if_asked);
  ExportedOnnx exported{.input = graph.input,
                        .output = graph.output,
                        .file = write_onnx(path, model, weights, options.file),
                        .tensors = graph.weights.size(),
                        .averaged = averaged};
  for (const OnnxWeight& weight : graph.weights) exported.numbers += weight.shape.elements();
  return exported;
}

ExportedModel export_as_onnx(const ExportJob& job) {
  OnnxOptions options;
  options.opset = job.asked.opset.value_or(usual_onnx_opset);
  options.batch = job.asked.batch.value_or(0);
  options.averaged = job.asked.averaged;
  options.file.existing = job.existing();
  if (job.asked.external_data) options.file.weights = WeightPlace::beside;
  options.producer_version = SPIRE_VERSION;
  options.stop = job.asked.stop;
  ExportedOnnx exported =
      export_onnx(job.to, job.config, job.checkpoint.state, *job.checkpoint.tensors, options);
  const WrittenOnnx& file = exported.file;
  ExportedModel result;
  result.files = {{job.to, static_cast<int64_t>(file.bytes)}};
  if (!file.data.empty())
    result.files.push_back({file.data, static_cast<int64_t>(file.data_bytes)});
  if (!file.unused.empty())
    result.warnings.push_back(fmt::format(
        "{}: is not of this model, whose weights are all in its file; remove it if nobody needs it",
        file.unused.string()));
  result.removed = file.removed;
  result.input = to_string(exported.input);
  result.output = to_string(exported.output);
  result.tensors = static_cast<int64_t>(exported.tensors);
  result.numbers = exported.numbers;
  result.averaged = exported.averaged;
  return result;
}

}  // namespace spire
