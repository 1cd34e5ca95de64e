// Guard against decompression bombs in gzip chunks of HDF5 datasets. Needs an h5::Session.
#pragma once
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/base/hdf5.h"

namespace spire::inline data {

class Hdf5ChunkGuard {
 public:
  // dataset: must outlive this. location: names it in messages. Throws Error(data) if gzip is
  // followed by a filter other than a checksum.
  Hdf5ChunkGuard(hid_t dataset, std::string location);

  // Throws Error(data), naming the rows, if a chunk of rows [first, first + rows) inflates to more
  // bytes than a chunk has. Checks each chunk only once, so that later epochs lose no time.
  void require_bounded(int64_t first, int64_t rows);

 private:
  static constexpr int max_rank = 4;
  using Offset = std::array<hsize_t, max_rank>;  // of a chunk's first element

  void check_chunk(const Offset& offset);
  bool next_in_row(Offset& offset) const;

  hid_t dataset_;
  std::string location_;
  bool packed_ = false;  // the dataset is chunked, and gzip is one of its filters
  int rank_ = 0;
  Offset dims_{}, chunk_{};  // shapes of the dataset and of a chunk
  uint64_t chunk_bytes_ = 0;
  std::set<Offset> checked_;     // suspicious chunks that were inflated and found good
  std::vector<uint8_t> stored_;  // one chunk as stored in the file
};

}  // namespace spire::inline data
