// A training state as the bytes of its checkpoint file, and back.
#pragma once
#include <spire/train/checkpoint_header.h>
#include <spire/train/snapshot.h>

#include <filesystem>
#include <string>

namespace spire {

inline constexpr int64_t checkpoint_format = 2;  // another number: not for this reader

// The file is `header`, then `hdf5`.
struct CheckpointImage {
  std::string header;
  std::string hdf5;
};

// Throws Error(unexpected) for a name that HDF5 cannot hold ('/', blanks) or values that do not fit
// their shape.
CheckpointImage encode_checkpoint(const TrainingState& state);

// Reads a file that verify_header has passed. Throws Error(checkpoint) without the file's name.
TrainingState decode_checkpoint(const std::filesystem::path& path);

}  // namespace spire
