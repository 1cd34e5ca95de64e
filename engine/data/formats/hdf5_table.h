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
#include "engine/data/formats/hdf5_array.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/row_table.h"
#include "engine/data/part_names.h"

namespace spire::inline data {

// Group of row checksums: element i of dataset "xxh3/<name>" is the hash64 of rows
// [i * R, (i + 1) * R) of dataset <name>; its attribute `rows` is R.
inline constexpr const char* hdf5_checksum_group = "xxh3/";

// Returns which groups of a file are parts, among those that have an input by a known name; the
// names of train and test always, as their arrays may be named otherwise. Needs an h5::Session.
PartNames hdf5_parts(const std::filesystem::path& file, const ValConfig& val);

// Not thread-safe. Needs an h5::Session, also in its destructor. Errors name the dataset.
class Hdf5Table : public RowTable {
 public:
  // Opens the two datasets, which give columns as row_columns() has it; integers of tokens, labels
  // and targets are saturated to i32. If a name is "auto", the input is the first of images,
  // features and tokens that `group` contains, and the target the first of labels, values, targets,
  // target_images and masks.
  Hdf5Table(const std::filesystem::path& file, const ArrayNames& names, const std::string& group);

  int64_t chunk_rows() const { return arrays_[0].chunk_rows(); }  // of the input
  std::string location(size_t column) const override { return arrays_[column].location(); }
  std::string_view task_key() const override { return "data.hdf5.task"; }
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened

  std::set<std::string> used_datasets() const;    // names of input and target
  std::set<std::string> datasets_beside() const;  // names of all datasets in their groups

  void read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const override;
  void read_chunk_index() const;  // reads the index of all chunks, but no chunk

  std::string layout(size_t column) const { return arrays_[column].layout(); }
  std::optional<RowChecksums> checksums() const;
  std::vector<double> numbers(size_t column, const char* attribute) const override {
    return arrays_[column].numbers(attribute);
  }
  std::vector<std::string> words(size_t column, const char* attribute) const override {
    return arrays_[column].words(attribute);
  }
  std::optional<int64_t> number(size_t column, const char* attribute) const override {
    return arrays_[column].number(attribute);
  }

 private:
  std::filesystem::path path_;
  h5::Handle file_;
  FileStamp stamp_;
  std::unique_ptr<Hdf5LinkResolver> links_;
  std::vector<Hdf5Array> arrays_;  // input and target
};

}  // namespace spire::inline data
