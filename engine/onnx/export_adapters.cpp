// Low-rank adapters alone, as Hugging Face's PEFT reads them: adapter_model.safetensors, and beside
// it adapter_config.json (https://huggingface.co/docs/peft, "Checkpoint format").
#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/base/adapter_names.h"
#include "engine/config/words.h"
#include "engine/onnx/export_job.h"
#include "engine/weights/files/weight_writers.h"
#include "engine/weights/names/name_table.h"

namespace spire {
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
