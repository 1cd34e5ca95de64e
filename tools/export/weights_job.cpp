// Weights alone: safetensors and NumPy's .npz.
#include <spire/error.h>

#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "engine/onnx/inference_graph.h"
#include "engine/weights/files/npz_writer.h"
#include "engine/weights/files/safetensors_writer.h"
#include "engine/weights/names/name_table.h"
#include "engine/weights/names/own_metadata.h"
#include "tools/export/export_job.h"
#include "tools/output/streams.h"

namespace spire::tool {

namespace {

namespace fs = std::filesystem;

// The weights, named as asked, and what goes with such names.
struct NamedWeights {
  std::vector<TensorToWrite> tensors;
  WeightNames names;
  std::string config;                                // of Hugging Face's classes; may be empty
  std::map<std::string, std::string> metadata = {};  // of safetensors
  bool averaged = false;
};

NamedWeights weights_of(const ExportJob& job, WeightNames by_default) {
  const SavedTensors& saved = *job.checkpoint.tensors;
  Graph graph =
      inference_graph(job.config, sample_spec_from_text(job.checkpoint.state.data_spec), 1);
  WeightNames asked =
      job.asked.names.empty() ? by_default : *find_word<WeightNames>(job.asked.names);
  NameTable table = name_table(asked, job.config.model, graph);
  NamedWeights weights{.tensors = {}, .names = table.names, .config = {}};
  weights.averaged = takes_average(saved, job.asked.ema);
  weights.tensors = tensors_to_write(table, saved, weights.averaged);
  weights.metadata = own_metadata(table, graph);
  weights.config = foreign_config(table, job.config.model, graph);
  for (TensorToWrite& tensor : weights.tensors)
    tensor.read = [read = tensor.read, to = job.to, stop = job.stop](int64_t begin,
                                                                     std::span<float> out) {
      if (stop->load())
        fail(Category::interrupted, "{}: stopped by a signal before it was written", to.string());
      read(begin, out);
    };
  return weights;
}

void print_weights(const ExportJob& job, const NamedWeights& weights,
                   const std::vector<fs::path>& files) {
  TextTable written;
  for (const fs::path& file : files)
    written.push_back({file.string(), bytes_text(static_cast<int64_t>(fs::file_size(file)))});
  int64_t numbers = 0;
  for (const TensorToWrite& tensor : weights.tensors) numbers += tensor.shape.elements();
  Sections sections;
  sections.add("written", written);
  sections.add("names", std::string(word_of(weights.names)));
  sections.add("weights", fmt::format("{} numbers in {} tensors of step {}{}", count_text(numbers),
                                      weights.tensors.size(), count_text(job.checkpoint.state.step),
                                      weights.averaged ? ", averaged (ema.decay)" : ""));
  print_result("{}", sections.text());
}

}  // namespace

// With Hugging Face's names a config.json goes beside the weights, as its classes read a folder.
void export_as_safetensors(const ExportJob& job) {
  NamedWeights weights = weights_of(job, WeightNames::automatic);
  std::optional<AtomicWriter> config;
  fs::path config_path = job.to.parent_path() / "config.json";
  if (!weights.config.empty()) {
    config.emplace(config_path, Category::config, job.existing);
    config->write(weights.config);
  }
  std::vector<fs::path> files = write_safetensors(
      job.to, weights.tensors, {.existing = job.existing, .metadata = weights.metadata});
  if (config) {
    config->commit();
    files.push_back(config_path);
  }
  print_weights(job, weights, files);
}

void export_as_npz(const ExportJob& job) {
  NamedWeights weights = weights_of(job, WeightNames::spire);
  write_npz(job.to, weights.tensors, job.existing);
  print_weights(job, weights, {job.to});
}

}  // namespace spire::tool
