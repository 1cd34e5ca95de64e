// Writes a checkpoint to one HDF5 file and reads it back; docs/checkpoint_format.md specifies it.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_header.h"
#include "engine/checkpoint/training_state.h"

namespace spire::inline checkpoint {

inline constexpr size_t checkpoint_piece = size_t{1} << 21;  // floats read or written at a time

// Writes the file whole or not at all; the same state gives the same bytes. Tensors are read once,
// in order, in parts into `piece`. Throws Error(checkpoint). Any thread may call it.
void write_checkpoint(const std::filesystem::path& path, const StateMetadata& metadata,
                      const SavedTensors& tensors, std::span<float> piece);
void write_checkpoint(const std::filesystem::path& path, const TrainingState& state);

// An open checkpoint, every byte verified. Tensors are read on demand, by any thread.
class CheckpointFile : public SavedTensors {
 public:
  // Throws Error(checkpoint) that names file and damaged tensor; UnreadableFile.
  explicit CheckpointFile(const std::filesystem::path& path);

  const StateMetadata& metadata() const { return metadata_; }
  std::vector<TensorGroup> groups() const override { return groups_; }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  std::filesystem::path path_;
  std::unique_ptr<CheckpointBytes> bytes_;
  StateMetadata metadata_;
  std::vector<TensorGroup> groups_;
  std::vector<std::vector<uint64_t>> offsets_;  // of each group's tensors, in the file
};

// Reads a whole file into memory: for small ones. Throws as CheckpointFile does.
TrainingState read_checkpoint(const std::filesystem::path& path);

}  // namespace spire::inline checkpoint
