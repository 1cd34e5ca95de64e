// Tensors of a file of weights, by name, whatever its format: a checkpoint of Spire or safetensors.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/checkpoint/training_state.h"

namespace spire {

// A saved state of which only finite numbers can be read: weights of a run that diverged would
// spoil a run that starts from them, or make other programs compute NaN.
class FiniteTensors : public SavedTensors {
 public:
  // path: what messages call `saved`. Any thread may read if `saved` allows that.
  FiniteTensors(std::filesystem::path path, std::shared_ptr<const SavedTensors> saved);

  std::vector<TensorGroup> groups() const override { return saved_->groups(); }
  // Throws Error(checkpoint) with the tensor and the first element that is not finite.
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const SavedTensors> saved_;
};

class WeightFile {
 public:
  // from: safetensors (SafetensorsReader), a checkpoint, or a run's directory, of which it takes
  // the best checkpoint, else the newest. Of a checkpoint it takes the averaged weights if there
  // are any, as evaluations do, with adapters merged into them. Throws Error(checkpoint); for
  // formats that it does not read the message says how to convert them.
  explicit WeightFile(const std::string& from, const CheckpointStore::OnDamaged& on_damaged = {});

  // Takes all groups of `tensors`, which need not be in a file. path: what messages call them.
  WeightFile(std::filesystem::path path, std::shared_ptr<const SavedTensors> tensors);

  const std::filesystem::path& path() const { return path_; }  // of the file or index
  bool is_checkpoint() const { return checkpoint_; }
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  std::optional<size_t> find(const std::string& name) const;

  // The __metadata__ of safetensors; empty for checkpoints.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Of a checkpoint; null for other files.
  const StateMetadata* state() const { return state_ ? &*state_ : nullptr; }

  // As FiniteTensors::read().
  void read(size_t tensor, int64_t begin, std::span<float> out) const;

  // Returns the config.json beside safetensors, in which other programs say what their models
  // compute; nullopt if there is none, and for checkpoints.
  std::optional<std::filesystem::path> config_path() const;

 private:
  void take(const std::vector<TensorPlace>& places);

  std::filesystem::path path_;
  bool checkpoint_ = false;
  std::map<std::string, std::string> metadata_;
  std::optional<StateMetadata> state_;
  std::shared_ptr<const SavedTensors> source_;
  std::vector<TensorEntry> tensors_;
  std::vector<TensorPlace> places_;
};

}  // namespace spire
