// One dataset of an HDF5 file, with one row per sample.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/hdf5.h"
#include "engine/data/formats/hdf5_chunk_guard.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/row_table.h"

namespace spire::inline data {

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
  int64_t rows() const { return rows_; }
  int64_t chunk_rows() const { return chunk_rows_; }  // 0 if it is not chunked
  StoredArray stored() const;

  // Reads rows [first, first + rows) as numbers of `dtype`, i32 (saturated), u8, f32 or f64.
  void read(int64_t first, int64_t rows, DType dtype, std::byte* out) const;
  void read_chunk_index() const;  // reads the index of all chunks, but no chunk

  // Returns "train/images: uint8 (60000, 28, 28, 1), chunks of (64, 28, 28, 1), deflate, 9 bytes".
  std::string layout() const;
  // Return an attribute; empty or nullopt if it is missing.
  std::vector<double> numbers(const char* attribute) const;
  std::vector<std::string> words(const char* attribute) const;
  std::optional<int64_t> number(const char* attribute) const;

 private:
  void check_storage(int rank, const hsize_t* dims) const;
  void note_chunks(std::span<const hsize_t> dims);
  std::optional<h5::Handle> open_attribute(const char* name) const;

  std::filesystem::path path_;
  std::string name_, location_;
  h5::Handle dataset_;
  std::unique_ptr<Hdf5ChunkGuard> guard_;
  std::vector<int64_t> row_;
  int64_t rows_ = 0, chunk_rows_ = 0;
};

}  // namespace spire::inline data
