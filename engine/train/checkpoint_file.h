// One checkpoint, one HDF5 file; docs/checkpoint_format.md is its specification.
#pragma once
#include <spire/train/snapshot.h>

#include <filesystem>
#include <string>

namespace spire {

// Writes the file whole or not at all (temporary name, fsync, rename, fsync of the directory).
// Throws Error(checkpoint) with the system's reason, for example a full disk, and leaves no
// temporary behind. Takes about twice the state's size in memory while it runs.
// The same state gives the same bytes. Any thread may call it.
void write_checkpoint(const std::filesystem::path& path, const TrainingState& state);

// Reads a file back, bit for bit. Each byte of it is covered by a checksum that is verified first:
// Error(checkpoint) names the file and the damaged tensor. Any thread may call it.
TrainingState read_checkpoint(const std::filesystem::path& path);

}  // namespace spire
