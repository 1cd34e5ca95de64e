// Skeleton of an HDF5 file of samples: complete but for its rows, which have reserved space at
// known offsets and are written without libhdf5. The groups train and test have the columns, by
// name, and hdf5_checksum_group their checksums.
#pragma once
#include <array>
#include <filesystem>

#include "engine/data/sample.h"

namespace spire::inline data {

struct SkeletonColumn {
  int64_t rows_offset = 0, checksums_offset = 0;  // bytes from the beginning of the file
};

struct Hdf5Skeleton {
  std::array<std::array<SkeletonColumn, 2>, 2> columns;  // [train, test][input, target]
  int64_t bytes = 0;                                     // of the whole file
};

inline constexpr std::array<const char*, 2> hdf5_splits = {"train", "test"};

struct SkeletonRows {
  std::array<int64_t, 2> count = {};  // train, test
  int64_t block = 0;                  // rows of a checksum

  int64_t blocks(size_t split) const { return (count[split] + block - 1) / block; }
};

// Returns the bytes of all rows and checksums; the file's metadata need some more.
int64_t skeleton_row_bytes(const SampleSpec& spec, const SkeletonRows& rows);

// Makes or replaces the file; equal arguments give equal bytes. spec: of stored rows.
void write_hdf5_skeleton(const std::filesystem::path& path, const SampleSpec& spec,
                         const SkeletonRows& rows);
Hdf5Skeleton read_hdf5_skeleton(const std::filesystem::path& path, const SampleSpec& spec);

}  // namespace spire::inline data
