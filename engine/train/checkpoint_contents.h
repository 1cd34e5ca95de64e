// What libhdf5 tells of a checkpoint file.
#pragma once
#include <spire/train/checkpoint_header.h>
#include <spire/train/snapshot.h>

#include <filesystem>
#include <vector>

namespace spire {

struct CheckpointContents {
  StateMetadata metadata;
  std::vector<TensorGroup> groups;
  std::vector<std::vector<uint64_t>> offsets;  // of each group's tensors, in the file
};

// Of a file that verify_header has passed. Throws Error(checkpoint) without the file's name, also
// where it does not agree with its header.
CheckpointContents read_contents(const std::filesystem::path& path, const Header& header);

}  // namespace spire
