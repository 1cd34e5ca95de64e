// Weights alone, for export_model(): safetensors and NumPy's .npz.
#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/config/words.h"
#include "engine/data/text/vocabulary.h"
#include "engine/onnx/export_job.h"
#include "engine/weights/files/weight_writers.h"
#include "engine/weights/names/name_table.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// The weights, named as asked, and what goes with such names.
struct NamedWeights {
  std::vector<TensorToWrite> tensors;
  WeightNames names;
  std::string config;                                // of Hugging Face's classes; may be empty
  std::map<std::string, std::string> metadata = {};  // of safetensors
  bool averaged = false;
  std::vector<std::string> warnings = {};
};

// Messages about names speak of the config's key.
NameTable table_of(WeightNames asked, const ModelConfig& model, const Graph& graph) {
  try {
    return name_table(asked, model, graph);
  } catch (const Error& error) {
    if (error.category() != Category::config) throw;
    fail(Category::config, "{} (here: --names pytorch, or --names spire)", error.what());
  }
}

// The token that ends a text, which only GPT-2's vocabulary has.
std::optional<int64_t> end_token(const SampleSpec& spec, std::vector<std::string>& warnings) {
  if (!spec.vocabulary.starts_with("gpt2:")) return std::nullopt;
  try {
    std::vector<int32_t> ids = make_vocabulary(spec.vocabulary)->encode(end_of_text);
    if (ids.size() == 1 && ids[0] < spec.classes) return ids[0];
  } catch (const Error& error) {
    warnings.push_back(fmt::format(
        "config.json names no end token, as the vocabulary cannot be read: {}", error.what()));
  }
  return std::nullopt;
}

// Throws Error(config) if a config.json is there that export would not have written for such a
// model.
void require_own_config(const fs::path& path, const std::string& ours) {
  std::optional<std::string> text = read_file_if_there(path, Category::config);
  if (!text || text->empty()) return;
  using Json = nlohmann::json;
  Json theirs = Json::parse(*text, nullptr, false), own = Json::parse(ours);
  if (theirs.is_object() && theirs.value("model_type", Json()) == own["model_type"]) return;
  fail(Category::config,
       "{}: is there already, and is not of a model of the type {}; export to an empty folder, or "
       "take --names pytorch, which needs no config.json",
       path.string(), own["model_type"].dump());
}

NamedWeights weights_of(const ExportJob& job, WeightNames by_default) {
  const SavedTensors& saved = *job.checkpoint.tensors;
  SampleSpec spec = sample_spec_from_text(job.checkpoint.state.data_spec);
  Graph graph = inference_graph(job.config, spec, 1);
  WeightNames asked =
      job.asked.names.empty() ? by_default : *find_word<WeightNames>(job.asked.names);
  NameTable table = table_of(asked, job.config.model, graph);
  NamedWeights weights{.tensors = {}, .names = table.names, .config = {}};
  weights.averaged = takes_average(saved, job.asked.averaged);
  weights.tensors = tensors_to_write(table, saved, weights.averaged);
  weights.metadata = own_metadata(table, graph);
  weights.config =
      foreign_config(table, job.config.model, graph, end_token(spec, weights.warnings));
  make_stoppable(weights.tensors, job);
  return weights;
}

ExportedModel result_of(const NamedWeights& weights, const std::vector<fs::path>& files) {
  ExportedModel result;
  for (const fs::path& file : files) result.files.push_back(written_file(file));
  result.tensors = std::ssize(weights.tensors);
  result.numbers = elements_of(weights.tensors);
  result.averaged = weights.averaged;
  result.names = word_of(weights.names);
  result.warnings = weights.warnings;
  return result;
}

}  // namespace

// With Hugging Face's names a config.json goes beside the weights, as its classes read a folder.
// Neither stays alone where the other cannot be written.
ExportedModel export_as_safetensors(const ExportJob& job) {
  NamedWeights weights = weights_of(job, WeightNames::automatic);
  SafetensorsOptions options = {.existing = job.existing(), .metadata = weights.metadata};
  if (!weights.config.empty()) {
    options.companion = {job.to.parent_path() / "config.json", weights.config};
    if (job.existing() == Existing::replace)
      require_own_config(options.companion->path, weights.config);
  }
  return result_of(weights, write_safetensors(job.to, weights.tensors, options));
}

ExportedModel export_as_npz(const ExportJob& job) {
  NamedWeights weights = weights_of(job, WeightNames::spire);
  write_npz(job.to, weights.tensors, job.existing());
  return result_of(weights, {job.to});
}

}  // namespace spire
