// A saved state whose reader meets finite numbers only: the weights of a run that diverged would
// spoil a run that begins with them, or answer other programs with NaN.
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/checkpoint/training_state.h"

namespace spire::inline weights {

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

}  // namespace spire::inline weights
