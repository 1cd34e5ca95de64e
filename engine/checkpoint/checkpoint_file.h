// One checkpoint, one HDF5 file; docs/checkpoint_format.md is its specification.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_header.h"
#include "engine/checkpoint/snapshot.h"

namespace spire::inline checkpoint {

// Tensors go into a file, and out of it, in pieces of at most so many floats (8 MiB).
inline constexpr size_t checkpoint_piece = size_t{1} << 21;

// Writes the file whole or not at all (temporary name, fsync, rename, fsync of the directory).
// Throws Error(checkpoint) with the system's reason, for example a full disk, and leaves no
// temporary behind. The tensors are read once, in order, each in pieces into `piece`; beside it
// takes some KiB a tensor. The same state gives the same bytes. Any thread may call it.
void write_checkpoint(const std::filesystem::path& path, const StateMetadata& metadata,
                      const SavedTensors& tensors, std::span<float> piece);
void write_checkpoint(const std::filesystem::path& path, const TrainingState& state);

// A checkpoint of which every byte was verified against its checksum. Its tensors are read from
// the file when they are asked for. Any thread may read.
class CheckpointFile : public SavedTensors {
 public:
  // Error(checkpoint) names the file and the damaged tensor.
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

// A whole file in memory, bit for bit: for small ones. Throws as CheckpointFile does.
TrainingState read_checkpoint(const std::filesystem::path& path);

}  // namespace spire::inline checkpoint
