// Writes a checkpoint as one HDF5 file and reads it back; docs/checkpoint_format.md specifies it.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_header.h"
#include "engine/checkpoint/training_state.h"

namespace spire {

inline constexpr size_t checkpoint_piece = size_t{1} << 21;  // floats; the usual size of `piece`

// Writes the file whole or not at all; the same state gives the same bytes. Reads each tensor once,
// in order, in parts that fit into the scratch memory `piece`. Throws Error(checkpoint).
// Thread-safe.
void write_checkpoint(const std::filesystem::path& path, const StateMetadata& metadata,
                      const SavedTensors& tensors, std::span<float> piece);
void write_checkpoint(const std::filesystem::path& path, const TrainingState& state);
// Returns the bytes of such a file.
std::vector<std::byte> checkpoint_bytes(const StateMetadata& metadata, const SavedTensors& tensors,
                                        std::span<float> piece);

// Open checkpoint, of which every byte has been verified. Any thread may read tensors, on demand.
class CheckpointFile : public SavedTensors {
 public:
  // Throws Error(checkpoint) with the damaged tensor, or UnreadableFile if it cannot be read.
  explicit CheckpointFile(const std::filesystem::path& path);

  const StateMetadata& metadata() const { return metadata_; }
  // Returns whether spire-hdf5-check read the file before this process did (read_by_program()).
  bool checked() const { return checked_; }
  std::vector<TensorGroup> groups() const override { return groups_; }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  std::filesystem::path path_;
  std::unique_ptr<CheckpointBytes> bytes_;
  bool checked_ = false;
  StateMetadata metadata_;
  std::vector<TensorGroup> groups_;
  std::vector<std::vector<uint64_t>> offsets_;  // of each group's tensors, bytes
};

// Returns a warning that the file was read unchecked; nullopt if `checked`
// (CheckpointFile::checked()), or if this process has returned one before.
std::optional<std::string> unchecked_warning(const std::filesystem::path& path, bool checked);

// Reads a whole file into memory; for small files. Throws what CheckpointFile throws.
TrainingState read_checkpoint(const std::filesystem::path& path);

}  // namespace spire
