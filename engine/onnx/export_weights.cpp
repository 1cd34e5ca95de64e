// Weights alone, for export_model(): safetensors and NumPy's .npz.
#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "engine/base/adapter_names.h"
#include "engine/base/fail.h"
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

// Low-rank adapters alone, as Hugging Face's PEFT reads them: adapter_model.safetensors, and beside
// it adapter_config.json (https://huggingface.co/docs/peft, "Checkpoint format").

namespace {

struct Adapters {
  std::vector<TensorToWrite> tensors;
  std::vector<std::string> modules;  // that are adapted, by their names there
  bool transposed = false;           // the modules' weights are (in, out), as GPT-2's Conv1D
};

using Read = std::function<void(int64_t begin, std::span<float> out)>;

// The run's tensors by name.
class RunTensors {
 public:
  RunTensors(const SavedTensors& saved, bool averaged) : saved_(saved) {
    std::vector<TensorGroup> groups = saved.groups();
    for (TensorPlace place : model_tensors(saved, averaged))
      places_[groups[place.group].tensors[place.tensor].name] = place;
  }
  // Null unless the run has the tensor. Reads it from element `begin` on.
  Read reader(const std::string& name, int64_t begin) const {
    auto found = places_.find(name);
    if (found == places_.end()) return nullptr;
    return [&saved = saved_, place = found->second, begin](int64_t first, std::span<float> out) {
      saved.read(place.group, place.tensor, begin + first, out);
    };
  }

 private:
  const SavedTensors& saved_;
  std::map<std::string, TensorPlace> places_;
};

std::string without_suffix(const std::string& name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

bool is_transposed(const TensorPart& part) {
  return part.view.rank() == 2 && part.axes == std::vector<int>{1, 0};
}

// Reads A (rank, in), with its columns in the order that the module's inputs have there.
Read read_a(const Read& a, const TensorPart& weight, int64_t rank, int64_t inputs) {
  if (weight.axes.empty() || is_transposed(weight)) return a;
  std::vector<int64_t> view(weight.view.dims().begin(), weight.view.dims().end());
  view[0] = rank;
  TensorPart part{"", {rank, inputs}, 0, Shape(view), weight.axes};
  return [a, part](int64_t begin, std::span<float> out) {
    std::vector<float> own(static_cast<size_t>(part.elements())), theirs(own.size());
    a(0, own);
    to_file(part, own, theirs);
    std::copy_n(theirs.begin() + begin, out.size(), out.begin());
  };
}

// A module that has some of a layer's outputs, as the queries of qkv, has the layer's A and some
// rows of its B.
void add_layer(const NamedParameter& weight, const RunTensors& run, int64_t rank, Adapters& all) {
  std::string layer = without_suffix(weight.name, weight_suffix);
  std::string a = fmt::format("{}{}{}", layer, lora_a, weight_suffix);
  std::string b = fmt::format("{}{}{}", layer, lora_b, weight_suffix);
  if (!run.reader(a, 0) || !run.reader(b, 0)) return;
  int64_t inputs = weight.shape[1];
  for (const TensorPart& part : weight.parts) {
    std::string module = without_suffix(part.name, weight_suffix);
    std::string name = "base_model.model." + module;
    int64_t first = part.begin / inputs, rows = part.elements() / inputs;
    if (!part.axes.empty() && !is_transposed(part) && part.view[0] != rows)
      fail(Category::config,
           "--lora apart: the outputs of '{}' have another order under these names; use --names "
           "spire",
           layer);
    all.tensors.push_back(
        {name + ".lora_A.weight", {rank, inputs}, read_a(run.reader(a, 0), part, rank, inputs)});
    all.tensors.push_back({name + ".lora_B.weight", {rows, rank}, run.reader(b, first * rank)});
    all.modules.push_back(module);
    all.transposed |= is_transposed(part);
  }
}

std::string config_text(const Adapters& adapters, const LoraConfig& lora, bool language_model) {
  nlohmann::ordered_json config = {{"peft_type", "LORA"},
                                   {"task_type", nullptr},
                                   {"base_model_name_or_path", nullptr},
                                   {"r", lora.rank},
                                   {"lora_alpha", lora.alpha},
                                   {"lora_dropout", 0.0},
                                   {"target_modules", adapters.modules},
                                   {"fan_in_fan_out", adapters.transposed},
                                   {"bias", "none"},
                                   {"inference_mode", true}};
  if (language_model) config["task_type"] = "CAUSAL_LM";
  return config.dump(2) + "\n";
}

void check_run(const ExportJob& job) {
  if (job.config.adapt.lora.rank == 0)
    fail(Category::config,
         "--lora apart: {} has no adapters, as its run had no adapt.lora; leave "
         "--lora out",
         job.checkpoint.path.string());
  if (!job.config.freeze.empty())
    fail(Category::config,
         "--lora apart: the run of {} has trained other weights beside its adapters (all that its "
         "freeze leaves out); leave --lora out to export the whole model",
         job.checkpoint.path.string());
}

}  // namespace

ExportedModel export_adapters(const ExportJob& job) {
  check_run(job);
  const LoraConfig& lora = job.config.adapt.lora;
  SampleSpec spec = sample_spec_from_text(job.checkpoint.state.data_spec);
  auto names =
      job.asked.names.empty() ? WeightNames::automatic : *find_word<WeightNames>(job.asked.names);
  NameTable table = name_table(names, job.config.model, inference_graph(job.config, spec, 1));
  bool averaged = takes_average(*job.checkpoint.tensors, job.asked.averaged);
  RunTensors run(*job.checkpoint.tensors, averaged);
  Adapters adapters;
  for (const NamedParameter& parameter : table.parameters)
    if (parameter.name.ends_with(weight_suffix)) add_layer(parameter, run, lora.rank, adapters);
  make_stoppable(adapters.tensors, job);
  bool language_model = spec.columns[0].name == "tokens";
  SafetensorsOptions options = {.existing = job.existing()};
  options.companion = {job.to.parent_path() / "adapter_config.json",
                       config_text(adapters, lora, language_model)};
  ExportedModel result;
  for (const auto& file : write_safetensors(job.to, adapters.tensors, options))
    result.files.push_back(written_file(file));
  result.tensors = std::ssize(adapters.tensors);
  result.numbers = elements_of(adapters.tensors);
  result.averaged = averaged;
  result.names = word_of(table.names);
  result.adapted_modules = std::ssize(adapters.modules);
  result.lora_rank = lora.rank;
  return result;
}

}  // namespace spire
