// Two named datasets of an HDF5 file, input and target, as rows that samples are made of.
#pragma once
#include <filesystem>
#include <optional>
#include <set>
#include <span>

#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/base/hdf5.h"
#include "engine/data/dataset.h"
#include "engine/data/formats/hdf5_chunks.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/hdf5_names.h"

namespace spire::inline data {

// One thread at a time uses a table, and holds a h5::Session while it does, for the destructor too.
// Every error is Error(data) and names file and dataset.
class Hdf5Table {
 public:
  // What a dataset holds follows from its type and rank, and decides the name of its column:
  //   input   (N, H, W, C), (N, H, W) of 8-bit integers   images, u8
  //           (N, T) of integers, with such a target      tokens, i32
  //           (N, F) of numbers                           features, f32, or f64 where f32 lacks
  //                                                       digits: 64-bit floats, 32-bit integers,
  //                                                       ...
  //   target  (N) of integers                             labels, i32
  //           (N), (N, K) of floating-point numbers       values, f32
  //           (N, T) of integers                          targets, i32
  // Numbers are converted; what is out of an i32's range becomes the end of it.
  // Of the names auto: the first that the group has of images, features, tokens, and of labels,
  // values, targets.
  Hdf5Table(const std::filesystem::path& file, const Hdf5Half& half, const std::string& group);

  int64_t count() const { return count_; }
  const std::vector<Column>& columns() const { return columns_; }  // input, target; types as stored
  size_t row_bytes() const { return columns_[0].row_bytes() + columns_[1].row_bytes(); }
  // Rows of a chunk of the input; 0: it is not chunked.
  int64_t chunk_rows() const { return chunk_rows_; }
  // "FILE: DATASET" of the input (0) or target (1).
  std::string place(size_t column) const;
  // The datasets in the groups of input and target, these two among them, and the two by
  // themselves: paths without the first slash. None is opened for it.
  std::set<std::string> neighbors() const;
  std::set<std::string> used() const;

  // Rows [first, first + rows) of the columns that are not null. Throws FileChanged where the file
  // was written since it was opened: what was read is then not to be used.
  void read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const;

  // "train/images: uint8 (60000, 28, 28, 1), chunks of (64, 28, 28, 1), deflate, 30 020 112 bytes"
  std::string layout(size_t column) const;
  // Which file it was when it was opened.
  const FileStamp& stamp() const { return stamp_; }
  // What trainer dataset convert wrote of the rows: XXH3 of blocks. Throws Error(data) for tables
  // that do not fit them.
  std::optional<RowChecksums> checksums() const;

  // Reads the index of all chunks, though none of them.
  void walk_chunks() const;

  // Attributes of the input or target; empty or nullopt when there is none of that name.
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
  FileStamp stamp_;  // when it was opened
  std::unique_ptr<Hdf5Names> within_;
  std::vector<std::string> names_;
  std::vector<h5::Handle> datasets_;
  std::vector<std::unique_ptr<Hdf5Chunks>> chunks_;
  std::vector<Column> columns_;
  std::vector<hid_t> memory_types_;  // of the library: never closed
  int64_t count_ = 0, chunk_rows_ = 0;
};

}  // namespace spire::inline data
