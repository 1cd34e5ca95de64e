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

// A saved state whose reader meets finite numbers only: the weights of a run that diverged would
// spoil a run that begins with them, or answer other programs with NaN.
class FiniteTensors : public SavedTensors {
 public:
  // path: what messages call `saved`, which is kept; any thread may read if that allows it.
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
  // are any, as evaluations do. Throws Error(checkpoint), also for formats that it does not read,
  // with the way to convert them.
  explicit WeightFile(const std::string& from, const CheckpointStore::OnDamaged& on_damaged = {});

  // All groups of tensors that are not in a file. path: what messages call them.
  WeightFile(std::filesystem::path path, std::shared_ptr<const SavedTensors> tensors);

  const std::filesystem::path& path() const { return path_; }  // of the file or index
  bool is_checkpoint() const { return checkpoint_; }
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  std::optional<size_t> find(const std::string& name) const;

  // What safetensors say of themselves; empty for checkpoints.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Of a checkpoint; null for other files.
  const StateMetadata* state() const { return state_ ? &*state_ : nullptr; }

  // As FiniteTensors::read().
  void read(size_t tensor, int64_t begin, std::span<float> out) const;

  // The config.json beside safetensors, by which others say what their models compute.
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
