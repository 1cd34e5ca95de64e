// What the chunks of an HDF5 dataset unpack to, before libhdf5 unpacks them.
#pragma once
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/base/hdf5.h"

namespace spire::inline data {

// libhdf5 unpacks a chunk until its gzip data end, however long that is, though the chunk has a
// size: 27 MB make 27 GB. So the gzip data of a chunk are unpacked once for nothing, in a small
// buffer, and refused where they are longer than the chunk. Chunks that cannot become large
// whatever they hold are left out. The caller holds a h5::Session.
class Hdf5Chunks {
 public:
  // `dataset` stays open as long as this lives; `place` names it in messages. Throws Error(data)
  // where gzip is not the last filter but for a checksum.
  Hdf5Chunks(hid_t dataset, std::string place);

  // Throws Error(data), naming the rows, where one of the chunks of rows [first, first + rows)
  // unpacks to more than its size. Each chunk is looked at once, so that this costs something in
  // the first epoch alone.
  void require_bounded(int64_t first, int64_t rows);

 private:
  static constexpr int max_rank = 4;
  using Place = std::array<hsize_t, max_rank>;  // of a chunk's first element

  void check_chunk(const Place& at);
  bool next_in_row(Place& at) const;

  hid_t dataset_;
  std::string place_;
  bool packed_ = false;  // in chunks, by gzip
  int rank_ = 0;
  Place dims_{}, chunk_{};
  uint64_t chunk_bytes_ = 0;
  std::set<Place> checked_;  // of those that could become large
  std::vector<uint8_t> stored_;
};

}  // namespace spire::inline data
