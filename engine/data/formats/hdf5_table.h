// Table in an HDF5 file: two named datasets, input and target, with one row per sample.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/base/hdf5.h"
#include "engine/data/change_detection.h"
#include "engine/data/dataset.h"
#include "engine/data/formats/hdf5_chunk_guard.h"
#include "engine/data/formats/hdf5_file.h"

namespace spire::inline data {

// Group of row checksums: element i of dataset "xxh3/<name>" is the hash64 of rows
// [i * R, (i + 1) * R) of dataset <name>; its attribute `rows` is R.
inline constexpr const char* hdf5_checksum_group = "xxh3/";

// Not thread-safe. Needs an h5::Session, also in its destructor. Errors name the dataset.
class Hdf5Table {
 public:
  // Opens the two datasets. The shape and type of a dataset decide its column (docs/formats.md,
  // HDF5): images, target_images and masks u8; tokens, labels and targets i32, saturated; values
  // f32; features f32 if that is exact, else f64. If a name is "auto", the input is the first of
  // images, features and tokens that `group` contains, and the target the first of labels, values,
  // targets, target_images and masks.
  Hdf5Table(const std::filesystem::path& file, const Hdf5Split& names, const std::string& group);

  int64_t count() const { return count_; }
  const std::vector<Column>& columns() const { return columns_; }  // input, target, as read() gives
  size_t row_bytes() const { return columns_[0].row_bytes() + columns_[1].row_bytes(); }
  int64_t chunk_rows() const { return chunk_rows_; }  // of the input; 0 if it is not chunked
  std::string location(size_t column) const;  // "FILE: DATASET" of the input (0) or target (1)
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened

  std::set<std::string> used_datasets() const;    // names of input and target
  std::set<std::string> datasets_beside() const;  // names of all datasets in their groups

  // Reads rows [first, first + rows) of the columns whose pointer is not null. Throws FileChanged
  // if the file was written since it was opened; the rows are then invalid.
  void read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const;
  void read_chunk_index() const;  // reads the index of all chunks, but no chunk

  // Returns "train/images: uint8 (60000, 28, 28, 1), chunks of (64, 28, 28, 1), deflate, 9 bytes".
  std::string layout(size_t column) const;
  std::optional<RowChecksums> checksums() const;
  // Return an attribute of a dataset; empty or nullopt if it is missing.
  std::vector<double> numbers(size_t column, const char* attribute) const;
  std::vector<std::string> words(size_t column, const char* attribute) const;
  std::optional<int64_t> number(size_t column, const char* attribute) const;

 private:
  h5::Handle open_dataset(const std::string& name) const;
  ChunkCache check_dataset(const std::string& name) const;
  void read_column(size_t column, int64_t first, int64_t rows, std::byte* out) const;
  void describe(size_t column);
  void describe_input(std::vector<int64_t> row);
  void describe_target_image(std::vector<int64_t> row);
  void describe_target(std::vector<int64_t> row);
  void check_storage(size_t column, int rank, const hsize_t* dims) const;
  std::optional<h5::Handle> open_attribute(size_t column, const char* name) const;

  std::filesystem::path path_;
  h5::Handle file_;
  FileStamp stamp_;
  std::unique_ptr<Hdf5LinkResolver> links_;
  std::vector<std::string> names_;  // this and all vectors below: entries for input and target
  std::vector<h5::Handle> datasets_;
  std::vector<std::unique_ptr<Hdf5ChunkGuard>> guards_;
  std::vector<Column> columns_;
  std::vector<hid_t> memory_types_;  // predefined types of libhdf5, which are never closed
  int64_t count_ = 0, chunk_rows_ = 0;
};

}  // namespace spire::inline data
