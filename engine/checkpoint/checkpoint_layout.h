// Where everything of a checkpoint lies in its file, and all of it but the tensors' values.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "engine/base/hdf5.h"
#include "engine/checkpoint/checkpoint_header.h"
#include "engine/checkpoint/snapshot.h"

namespace spire::inline checkpoint {

inline constexpr int64_t checkpoint_format = 2;  // another number: not for this reader

struct CheckpointLayout {
  uint64_t block = 0;                 // bytes of the header, in front of the HDF5 part
  std::vector<TensorExtent> extents;  // one a tensor in the order of groups; some without bytes
  h5::SparseFile structure;           // the file but for the header and the tensors' bytes
};

// checksums: one a tensor in the order of groups, each of 16 digits. Where things lie depends on
// none of them: a file may be laid out before they are known, and once more with them. Throws
// Error(unexpected) for a name that HDF5 cannot hold ('/', blanks).
CheckpointLayout lay_out_checkpoint(const StateMetadata& metadata,
                                    const std::vector<TensorGroup>& groups,
                                    std::span<const std::string> checksums);

}  // namespace spire::inline checkpoint
