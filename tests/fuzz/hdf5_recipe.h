// Generator of HDF5 files: libhdf5 writes an undamaged file of any layout for any bytes. So a
// search tries the contents of files, not damage.
#pragma once
#include <filesystem>
#include <vector>

#include "tests/fuzz/choices.h"

namespace spire::fuzz {

// The bytes are, in turn:
//   6 datasets, in the order of hdf5_names:
//     place     dataset, nothing, group, links, type
//     type      an entry of the table of types
//     rank      0 to 5; 6: no extent at all
//     extents   one a dimension, an entry of the table of extents
//     layout    contiguous, compact, chunked, in another file, virtual
//     chunk     one a dimension, chunked only
//     filters   a bit each: shuffle, deflate, fletcher32, scale-offset, n-bit, unlimited rows
//     fill      value of numbers that were never written
//     written   nothing, all rows, half of them, the last, or a chunk of other bytes
//     values    first number; step to the next
//     attributes: their number; of each name, type, count, value
// Leaves out what libhdf5 refuses to make. newest: the newest format version, which has checksums
// of all metadata.
void write_hdf5(const std::filesystem::path& path, bool newest, Choices& choices);

inline constexpr std::array hdf5_names = {"train/images", "train/labels",      "test/images",
                                          "test/labels",  "xxh3/train/images", "xxh3/train/labels"};

// Returns seeds of the target hdf5: one byte (bit 0: full shuffle, bit 1: newest format version),
// then the bytes of usual files: images and labels, features, tokens.
std::vector<Bytes> hdf5_seeds();

}  // namespace spire::fuzz
