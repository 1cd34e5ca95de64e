// What libhdf5 tells of a checkpoint file.
#pragma once
#include <filesystem>
#include <vector>

#include "engine/checkpoint/checkpoint_header.h"
#include "engine/checkpoint/snapshot.h"

namespace spire::inline checkpoint {

struct CheckpointContents {
  StateMetadata metadata;
  std::vector<TensorGroup> groups;
  std::vector<std::vector<uint64_t>> offsets;  // of each group's tensors, in the file
};

// Of a file that verify_header has passed. Throws Error(checkpoint) without the file's name, also
// where it does not agree with its header.
CheckpointContents read_contents(const std::filesystem::path& path, const Header& header);

}  // namespace spire::inline checkpoint
