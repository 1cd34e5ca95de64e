#include "engine/weights/files/weight_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <spire/load_config.h>

#include "engine/base/adapter_names.h"
#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/checkpoint/training_state.h"
#include "engine/weights/files/safetensors_reader.h"
#include "models/adapters.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Formats of others, which hold pickled Python objects or graphs.
void refuse_other_formats(const fs::path& path) {
  constexpr std::array pickled = {".pt", ".pth", ".bin", ".ckpt", ".pkl"};
  std::string suffix = path.extension().string();
  if (std::ranges::find(pickled, suffix) != pickled.end())
    fail(Category::checkpoint,
         "{}: Spire does not read pickled files, which may run any code; in Python: from "
         "safetensors.torch import save_file; save_file(model.state_dict(), "
         "\"model.safetensors\")",
         path.string());
  if (suffix == ".onnx" || suffix == ".npz")
    fail(Category::checkpoint,
         "{}: weights are read from safetensors and Spire's checkpoints, not from {} files",
         path.string(), suffix);
}

std::vector<TensorPlace> all_of(const SavedTensors& source) {
  std::vector<TensorGroup> groups = source.groups();
  std::vector<TensorPlace> places;
  for (size_t group = 0; group < groups.size(); ++group)
    for (size_t i = 0; i < groups[group].tensors.size(); ++i) places.push_back({group, i});
  return places;
}

// The weights of the model alone, with the adapters of a fine-tuned one merged into them.
std::shared_ptr<const SavedTensors> without_adapters(const LoadedCheckpoint& loaded) {
  std::vector<TensorGroup> groups = loaded.tensors->groups();
  auto is_adapter = [](const TensorEntry& entry) { return !adapted_layer(entry.name).empty(); };
  bool adapted = std::ranges::any_of(groups, [&](const TensorGroup& group) {
    return std::ranges::any_of(group.tensors, is_adapter);
  });
  if (!adapted) return loaded.tensors;
  RunConfig config =
      parse_config({{loaded.path.string() + ": its config", loaded.state.config_yaml}}, {}).config;
  double factor = adapter_factor(config.adapt.lora);
  return std::make_shared<MergedTensors>(loaded.tensors, factor, true);
}

}  // namespace

FiniteTensors::FiniteTensors(std::filesystem::path path, std::shared_ptr<const SavedTensors> saved)
    : path_(std::move(path)), saved_(std::move(saved)) {}

void FiniteTensors::read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const {
  saved_->read(group, tensor, begin, out);
  auto bad = std::ranges::find_if(out, [](float value) { return !std::isfinite(value); });
  if (bad == out.end()) return;
  fail(Category::checkpoint,
       "{}: {} has a number that is not finite: element {} is {}; take weights from before the run "
       "that wrote them diverged",
       path_.string(), printable(groups()[group].tensors[tensor].name), begin + (bad - out.begin()),
       unsigned_nan(static_cast<double>(*bad)));
}

WeightFile::WeightFile(const std::string& from, const CheckpointStore::OnDamaged& on_damaged)
    : path_(from) {
  refuse_other_formats(path_);
  if (is_safetensors(path_)) {
    auto reader = std::make_shared<SafetensorsReader>(path_);
    path_ = reader->path();
    metadata_ = reader->metadata();
    source_ = std::move(reader);
    take(all_of(*source_));
  } else {
    auto warn = on_damaged ? on_damaged : [](const fs::path&, const std::string&) {};
    // Alone the words auto, best and latest would mean checkpoints of the run itself.
    bool plain = path_.has_filename() && !path_.has_parent_path();
    LoadedCheckpoint loaded =
        *load_named(plain ? "./" + from : from, {}, CheckpointChoice::best, warn).checkpoint;
    path_ = loaded.path;
    checkpoint_ = true;
    source_ = without_adapters(loaded);
    state_ = std::move(loaded.state);
    take(model_tensors(*source_, true));
  }
}

WeightFile::WeightFile(fs::path path, std::shared_ptr<const SavedTensors> tensors)
    : path_(std::move(path)), source_(std::move(tensors)) {
  take(all_of(*source_));
}

void WeightFile::take(const std::vector<TensorPlace>& places) {
  source_ = std::make_shared<FiniteTensors>(path_, source_);
  std::vector<TensorGroup> groups = source_->groups();
  for (TensorPlace place : places) {
    tensors_.push_back(groups[place.group].tensors[place.tensor]);
    places_.push_back(place);
  }
}

std::optional<size_t> WeightFile::find(const std::string& name) const {
  auto found = std::ranges::find(tensors_, name, &TensorEntry::name);
  if (found == tensors_.end()) return std::nullopt;
  return static_cast<size_t>(found - tensors_.begin());
}

void WeightFile::read(size_t tensor, int64_t begin, std::span<float> out) const {
  source_->read(places_.at(tensor).group, places_.at(tensor).tensor, begin, out);
}

std::optional<fs::path> WeightFile::config_path() const {
  if (checkpoint_) return std::nullopt;
  fs::path folder = path_.parent_path();
  if (!is_there(folder / "config.json")) return std::nullopt;
  return folder / "config.json";
}

}  // namespace spire
