// Lays out and reads the HDF5 part of a checkpoint file (docs/checkpoint_format.md).
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/base/hdf5.h"
#include "engine/checkpoint/checkpoint_header.h"
#include "engine/checkpoint/training_state.h"

namespace spire {

inline constexpr int64_t checkpoint_format = 2;  // a file with another number is refused

struct CheckpointLayout {
  uint64_t block = 0;                 // bytes of the header, in front of the HDF5 part
  std::vector<TensorExtent> extents;  // one per tensor in the order of groups; `bytes` may be 0
  h5::SparseFile structure;           // the file without the header and the tensors' bytes
};

// Lays out a checkpoint in memory. checksums: one per tensor in the order of groups, 16 digits
// each; the offsets do not depend on their values. Throws Error(unexpected) for a name that HDF5
// cannot hold.
CheckpointLayout lay_out_checkpoint(const StateMetadata& metadata,
                                    const std::vector<TensorGroup>& groups,
                                    std::span<const std::string> checksums);

struct CheckpointContents {
  StateMetadata metadata;
  std::vector<TensorGroup> groups;
  std::vector<std::vector<uint64_t>> offsets;  // of each group's tensors, bytes from the start
};

// Reads metadata and offsets of a file that verify_header() has accepted. Throws Error(checkpoint),
// also if header and HDF5 part disagree; the caller adds the file's name to the message.
CheckpointContents read_contents(const std::filesystem::path& path, const Header& header);
// The main function of spire-hdf5-check for checkpoints: reads the file in a process of its own,
// because libhdf5 may crash or hang on a damaged file. It reports no other defects: the program
// that reads the file next does.
[[noreturn]] void checkpoint_check_main(const std::filesystem::path& path);

}  // namespace spire
