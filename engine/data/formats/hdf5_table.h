// Two named datasets of an HDF5 file, input and target, as rows.
#pragma once
#include <filesystem>
#include <optional>
#include <set>
#include <span>

#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/base/hdf5.h"
#include "engine/data/dataset.h"
#include "engine/data/formats/hdf5_chunk_guard.h"
#include "engine/data/formats/hdf5_file.h"

namespace spire::inline data {

// Group of row checksums: "xxh3/<name>" holds hash64 of rows [i * rows, (i + 1) * rows) of dataset
// <name>; `rows` is its attribute.
inline constexpr const char* hdf5_checksum_group = "xxh3/";

// Not thread-safe. The user holds a h5::Session, for the destructor too. Every error is Error(data)
// and names file and dataset.
class Hdf5Table {
 public:
  // Type and rank of a dataset decide its column:
  //   input   (N, H, W, C), (N, H, W) of 8-bit integers   images, u8
  //           (N, T) of integers, with targets (N, T)     tokens, i32
  //           (N, F) of numbers                           features, f32, or f64 for 64-bit floats
  //                                                       and integers above 16 bits
  //   target  (N) of integers                             labels, i32
  //           (N), (N, K) of floating-point numbers       values, f32
  //           (N, T) of integers                          targets, i32
  // Numbers are converted; those out of an i32's range become its end. The name auto stands for the
  // first of images, features, tokens, and of labels, values, targets, in `group`.
  Hdf5Table(const std::filesystem::path& file, const Hdf5Half& names, const std::string& group);

  int64_t count() const { return count_; }
  const std::vector<Column>& columns() const { return columns_; }  // input, target; types as stored
  size_t row_bytes() const { return columns_[0].row_bytes() + columns_[1].row_bytes(); }
  int64_t chunk_rows() const { return chunk_rows_; }  // of the input; 0: not chunked
  // Returns "FILE: DATASET" of the input (0) or target (1).
  std::string location(size_t column) const;
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened

  // Return input and target, and all datasets in their groups, without opening any.
  std::set<std::string> used_datasets() const;
  std::set<std::string> datasets_beside() const;

  // Reads rows [first, first + rows) of the columns that are not null. Throws FileChanged where the
  // file was written since it was opened; the rows are then invalid.
  void read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const;
  // Reads the index of all chunks, but no chunk.
  void read_chunk_index() const;

  // Returns "train/images: uint8 (60000, 28, 28, 1), chunks of (64, 28, 28, 1), deflate, 9 bytes".
  std::string layout(size_t column) const;
  // Returns the row checksums; nullopt: there are none.
  std::optional<RowChecksums> checksums() const;
  // Return an attribute; empty or nullopt: there is none of that name.
  std::vector<double> numbers(size_t column, const char* attribute) const;
  std::vector<std::string> words(size_t column, const char* attribute) const;
  std::optional<int64_t> number(size_t column, const char* attribute) const;

 private:
  h5::Handle open_dataset(const std::string& name) const;
  ChunkCache check_dataset(const std::string& name) const;
  void read_column(size_t column, int64_t first, int64_t rows, std::byte* out) const;
  void describe(size_t column);
  void describe_input(std::vector<int64_t> row);
  void describe_target(std::vector<int64_t> row);
  void check_storage(size_t column, int rank, const hsize_t* dims) const;
  std::optional<h5::Handle> open_attribute(size_t column, const char* name) const;

  std::filesystem::path path_;
  h5::Handle file_;
  FileStamp stamp_;
  std::unique_ptr<Hdf5LinkResolver> links_;
  std::vector<std::string> names_;  // input, target; so are all vectors below
  std::vector<h5::Handle> datasets_;
  std::vector<std::unique_ptr<Hdf5ChunkGuard>> guards_;
  std::vector<Column> columns_;
  std::vector<hid_t> memory_types_;  // predefined types of libhdf5, never closed
  int64_t count_ = 0, chunk_rows_ = 0;
};

}  // namespace spire::inline data
