// A new HDF5 file in memory of which only what libhdf5 writes takes memory: a dataset with room in
// the file and no values yet takes none. So a large file can be laid out first, and its values be
// written to the disk by somebody else, at the places that H5Dget_offset tells.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "engine/base/hdf5.h"

namespace spire::h5 {

class SparseFile {
 public:
  // Bytes of the file, user block included, once it is closed.
  uint64_t bytes() const { return bytes_; }
  // What nobody wrote reads as zeros. May throw std::bad_alloc, as write does.
  void read(uint64_t offset, size_t count, void* out) const;
  void write(uint64_t offset, size_t count, const void* from);
  void set_bytes(uint64_t bytes) { bytes_ = bytes; }

  // Creates the HDF5 file in this, which outlives it. creation: a file creation property list.
  // Inside a Session.
  Handle create(hid_t creation);

 private:
  static constexpr uint64_t page_bytes = 4096;

  std::map<uint64_t, std::string> pages_;  // by number
  uint64_t bytes_ = 0;
};

}  // namespace spire::h5
