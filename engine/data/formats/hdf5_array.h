// One dataset of an HDF5 file, with one row per sample.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/hdf5.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/row_table.h"

namespace spire {

struct Hdf5Layout {                  // how a dataset is stored, as its header says
  std::vector<hsize_t> dims, chunk;  // shapes of the dataset and of a chunk; no chunks: empty
  std::vector<std::pair<H5Z_filter_t, std::string>> filters;  // of chunks, in their order
  H5T_class_t type = H5T_NO_CLASS;                            // of the numbers
  bool natural = false;                                       // integers without a sign
  size_t element_bytes = 0;
  bool elsewhere = false;  // the numbers are in other files

  uint64_t chunk_bytes() const;  // decoded; those of an element without chunks; saturated
  bool is_packed() const;        // chunks are packed by gzip
};

// Not thread-safe. Needs an h5::Session, also in its destructor. Errors name the dataset.
class Hdf5Array {
 public:
  enum class Cache { none, chunks };  // what libhdf5 keeps of decoded chunks

  // Throws Error(data) for layouts, filters and types that are not read, and shapes that the file's
  // size cannot account for.
  Hdf5Array(const Hdf5LinkResolver& links, const std::filesystem::path& file, std::string name,
            Cache cache);

  const std::string& name() const { return name_; }
  const std::string& location() const { return location_; }  // "FILE: DATASET"
  int64_t rows() const { return static_cast<int64_t>(layout_.dims[0]); }
  int64_t chunk_rows() const;  // 0 if it is not chunked
  StoredArray stored() const;

  // Reads rows [first, first + rows) as numbers of `dtype`, i32 (saturated), u8, f32 or f64. Throws
  // Error(data), naming the rows, if a gzip chunk of them inflates to more than a chunk has.
  void read(int64_t first, int64_t rows, DType dtype, std::byte* out) const;
  void read_chunk_index() const;  // reads the index of all chunks, but no chunk

  // Returns "train/images: uint8 (60000, 28, 28, 1), chunks of (64, 28, 28, 1), deflate, 9 bytes".
  std::string layout() const;
  // Return an attribute; empty or nullopt if it is missing.
  std::vector<double> numbers(const char* attribute) const;
  std::vector<std::string> words(const char* attribute) const;
  std::optional<int64_t> number(const char* attribute) const;

 private:
  static constexpr size_t max_rank = 4;
  using Offset = std::array<hsize_t, max_rank>;  // of a chunk's first element

  void require_bounded(int64_t first, int64_t rows) const;
  void check_chunk(const Offset& offset) const;
  bool next_in_row(Offset& offset) const;
  std::optional<h5::Handle> open_attribute(const char* name) const;

  std::filesystem::path path_;
  std::string name_, location_;
  Hdf5Layout layout_;
  h5::Handle dataset_;
  mutable std::set<Offset> checked_;     // suspicious chunks that were inflated and found good
  mutable std::vector<uint8_t> stored_;  // one chunk as stored in the file
};

}  // namespace spire
