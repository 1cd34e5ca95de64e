#include <string_view>

#include <fmt/ranges.h>

#include <spire/export_model.h>

#include "engine/base/fail.h"
#include "engine/checkpoint/training_state.h"
#include "engine/config/words.h"
#include "engine/onnx/export_job.h"
#include "engine/onnx/onnx_graph.h"
#include "engine/weights/files/weight_file.h"
#include "models/adapters.h"
#include "models/model.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

static_assert(least_onnx_opset == min_opset && most_onnx_opset == max_opset &&
              usual_onnx_opset == default_opset);

struct ExportFormat {
  std::string_view ending;
  ExportedModel (*write)(const ExportJob&);
  bool is_model;  // a graph, not weights alone
};
constexpr ExportFormat export_formats[] = {{".onnx", export_as_onnx, true},
                                           {".safetensors", export_as_safetensors, false},
                                           {".npz", export_as_npz, false}};

const ExportFormat& format_of(const fs::path& to) {
  std::vector<std::string_view> endings;
  for (const ExportFormat& format : export_formats) {
    if (to.extension() == format.ending) return format;
    endings.push_back(format.ending);
  }
  fail(Category::config, "--to {}: the file's ending says the format, and must be one of: {}",
       to.string(), fmt::join(endings, ", "));
}

// Throws Error(config) for an option that means nothing in the format.
void check_options(const ExportFormat& format, const ExportOptions& asked) {
  auto refuse = [&](const char* option, bool given, const char* where) {
    if (given)
      fail(Category::config, "{}: means nothing for {}, only for {}; leave it out", option,
           format.ending, where);
  };
  if (format.ending != ".safetensors") refuse("--lora apart", asked.adapters_apart, ".safetensors");
  if (format.is_model) return refuse("--names", !asked.names.empty(), ".safetensors and .npz");
  refuse("--batch", asked.batch.has_value(), ".onnx");
  refuse("--opset", asked.opset.has_value(), ".onnx");
  refuse("--external-data", asked.external_data, ".onnx");
  if (!asked.names.empty() && !find_word<WeightNames>(asked.names))
    fail(Category::config, "--names {}: must be one of: {}", asked.names,
         fmt::join(all_words<WeightNames>, ", "));
}

}  // namespace

void make_stoppable(std::vector<TensorToWrite>& tensors, const ExportJob& job) {
  const std::atomic<bool>* stop = job.asked.stop;
  if (!stop) return;
  for (TensorToWrite& tensor : tensors)
    tensor.read = [read = tensor.read, to = job.to, stop](int64_t begin, std::span<float> out) {
      if (stop->load())
        fail(Category::interrupted, "{}: stopped by a signal before it was written", to.string());
      read(begin, out);
    };
}

int64_t elements_of(const std::vector<TensorToWrite>& tensors) {
  int64_t elements = 0;
  for (const TensorToWrite& tensor : tensors) elements += tensor.shape.elements();
  return elements;
}

WrittenFile written_file(const fs::path& path) {
  return {path, static_cast<int64_t>(fs::file_size(path))};
}

Graph inference_graph(const RunConfig& config, const SampleSpec& spec, int64_t batch) {
  ModelInput input{.columns = unpacked_columns(spec.columns),
                   .classes = spec.classes,
                   .batch = batch,
                   .dtype = DType::f32,
                   .table = spec.table,
                   .target_scale = spec.target_scale};
  for (Column& column : input.columns)
    if (is_float_type(column.dtype)) column.dtype = DType::f32;
  return build_model(config.model, config.loss, input, false);
}

bool takes_average(const SavedTensors& saved, std::optional<bool> asked) {
  bool there = find_group(saved, std::string(optimizer_groups) + average_slot).has_value();
  if (asked == true && !there)
    fail(Category::checkpoint,
         "the checkpoint has no averaged weights, as its run did not set ema.decay; leave out "
         "--ema");
  return there && asked.value_or(true);
}

void check_export(const fs::path& file, const ExportOptions& options) {
  check_options(format_of(file), options);
}

ExportedModel export_model(const Checkpoint& checkpoint, const RunConfig& config,
                           const fs::path& file, const ExportOptions& options) {
  const ExportFormat& format = format_of(file);
  check_options(format, options);
  // As an error of the arguments; the writers look again.
  std::error_code error;
  if (!options.overwrite && fs::is_regular_file(file, error) && fs::file_size(file, error) > 0)
    fail(Category::config, "{}: is there already; name another file, or give --overwrite",
         file.string());
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);  // writers report
  LoadedCheckpoint model = *checkpoint.loaded();
  if (!options.adapters_apart) {  // other programs get the model alone
    bool averaged = takes_average(*model.tensors, options.averaged);
    model.tensors =
        std::make_shared<MergedTensors>(model.tensors, adapter_factor(config.adapt.lora), averaged);
  }
  model.tensors = std::make_shared<FiniteTensors>(model.path, model.tensors);
  auto* write = options.adapters_apart ? export_adapters : format.write;
  ExportedModel result =
      write({.asked = options, .to = file, .config = config, .checkpoint = model});
  result.step = model.state.step;
  return result;
}

}  // namespace spire
