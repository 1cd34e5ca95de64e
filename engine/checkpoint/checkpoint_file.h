// Writes a checkpoint to one HDF5 file and reads it back; docs/checkpoint_format.md specifies it.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_header.h"
#include "engine/checkpoint/training_state.h"

namespace spire::inline checkpoint {

// Floats of the largest piece in which tensors are written and read: 8 MiB.
inline constexpr size_t checkpoint_piece = size_t{1} << 21;

// Writes the file whole or not at all: temporary name, fsync, rename, fsync of the directory.
// Throws Error(checkpoint) with the system's reason, for example a full disk, and then leaves no
// temporary file behind. The tensors are read once, in order, in pieces into `piece`; the rest
// takes some KiB a tensor. The same state gives the same bytes. Any thread may call it.
void write_checkpoint(const std::filesystem::path& path, const StateMetadata& metadata,
                      const SavedTensors& tensors, std::span<float> piece);
void write_checkpoint(const std::filesystem::path& path, const TrainingState& state);

// An open checkpoint whose every byte has been verified against its checksum. Its tensors are read
// from the file on demand. Any thread may read.
class CheckpointFile : public SavedTensors {
 public:
  // Throws Error(checkpoint) that names the file and the damaged tensor, and UnreadableFile where
  // the system does not give its bytes.
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

// Reads a whole file into memory, bit for bit: for small ones. Throws as CheckpointFile does.
TrainingState read_checkpoint(const std::filesystem::path& path);

}  // namespace spire::inline checkpoint
