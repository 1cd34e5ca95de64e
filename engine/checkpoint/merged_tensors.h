// A saved state in which low-rank adapters (models/adapters.h) are merged into the weights of their
// layers: W + factor * B A in place of W, and no adapters. These are the tensors of the model
// without adapters.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "engine/checkpoint/training_state.h"

namespace spire {

class MergedTensors : public SavedTensors {
 public:
  // factor: alpha / rank of the run. averaged: true: merges the adapters' averages, where the state
  // has some. A state without adapters stays as it is. Any thread may read if `saved` allows that.
  MergedTensors(std::shared_ptr<const SavedTensors> saved, double factor, bool averaged);

  std::vector<TensorGroup> groups() const override { return groups_; }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  struct Adapters {
    std::vector<float> a;  // (rank, inputs): each part of W needs all of its rows
    TensorPlace b;         // (outputs, rank)
    int64_t rank = 0, inputs = 0;
  };
  struct Kept {
    size_t tensor = 0;  // in the group of `saved`
    std::optional<Adapters> adapters;
  };
  void add_product(const Adapters& adapters, int64_t begin, std::span<float> out) const;

  std::shared_ptr<const SavedTensors> saved_;
  double factor_;
  std::vector<TensorGroup> groups_;
  std::vector<std::vector<Kept>> kept_;  // of each group
};

}  // namespace spire
