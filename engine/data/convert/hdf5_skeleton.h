// Skeleton of an HDF5 file of samples: a file that is complete except for its rows, for which space
// is reserved at known offsets, so that they are written without libhdf5. The groups train, test
// and, where it has rows, val contain one dataset per column, with the column's name;
// hdf5_checksum_group has their checksums.
#pragma once
#include <array>
#include <filesystem>
#include <vector>

#include "engine/data/sample.h"

namespace spire {

struct SkeletonColumn {
  int64_t rows_offset = 0, checksums_offset = 0;  // in bytes from the beginning of the file
};

struct Hdf5Skeleton {
  std::vector<std::array<SkeletonColumn, 2>> columns = {};  // [split][input, target]
  int64_t bytes = 0;                                        // size of the whole file
};

inline constexpr std::array<const char*, 3> hdf5_splits = {"train", "test", "val"};

struct SkeletonRows {
  std::vector<int64_t> count = {};  // rows of train, test and perhaps val
  int64_t block = 0;                // rows per checksum

  size_t splits() const { return count.size(); }
  int64_t blocks(size_t split) const { return (count[split] + block - 1) / block; }
};

// Returns the size of all rows and checksums, in bytes, without the file's metadata.
int64_t skeleton_row_bytes(const SampleSpec& spec, const SkeletonRows& rows);

// Makes or replaces the file; equal arguments give equal bytes. spec: that of the stored rows.
void write_hdf5_skeleton(const std::filesystem::path& path, const SampleSpec& spec,
                         const SkeletonRows& rows);
Hdf5Skeleton read_hdf5_skeleton(const std::filesystem::path& path, const SampleSpec& spec,
                                size_t splits);

}  // namespace spire
