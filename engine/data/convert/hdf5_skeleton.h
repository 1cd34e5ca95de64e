// An HDF5 file of samples that is complete but for its rows: names, types, attributes, and room for
// rows and their checksums at places that are known. Rows are then written without libhdf5, so that
// a conversion which is killed leaves a sound file, and goes on.
//
// Below "train" and "test" lie the samples' columns, by their names, without chunks. Of each
// "xxh3/<name>" holds the checksums: hash64 of the bytes of rows [i * rows, (i + 1) * rows), where
// `rows` is its attribute.
#pragma once
#include <array>
#include <filesystem>
#include <optional>

#include "engine/base/hdf5.h"
#include "engine/data/formats/hdf5_names.h"
#include "engine/data/sample.h"

namespace spire::inline data {

// Bytes from the beginning of the file.
struct SkeletonColumn {
  int64_t rows_at = 0, checksums_at = 0;
};

struct Hdf5Skeleton {
  std::array<std::array<SkeletonColumn, 2>, 2> columns;  // [train, test][input, target]
  int64_t bytes = 0;                                     // of the whole file
};

inline constexpr std::array<const char*, 2> hdf5_halves = {"train", "test"};

struct SkeletonRows {
  std::array<int64_t, 2> count = {};  // train, test
  int64_t block = 0;                  // that share a checksum

  int64_t blocks(size_t half) const { return (count[half] + block - 1) / block; }
};

// Of the rows and their checksums; the file needs some more for the rest.
int64_t frame_row_bytes(const SampleSpec& spec, const SkeletonRows& rows);

// Makes the file, or replaces it; the same arguments give the same bytes. `spec` is that of stored
// rows: images u8, features f32 or f64. Throws Error(data) naming the file.
void make_hdf5_frame(const std::filesystem::path& path, const SampleSpec& spec,
                     const SkeletonRows& rows);
Hdf5Skeleton read_hdf5_frame(const std::filesystem::path& path, const SampleSpec& spec);

struct BlockChecksums {
  int64_t rows = 0;
  std::vector<uint64_t> blocks = {};
};
// Of the dataset of that name; nothing when the file has none. The caller holds a Session.
std::optional<BlockChecksums> read_block_checksums(const Hdf5Names& within,
                                                   const std::string& name);

}  // namespace spire::inline data
