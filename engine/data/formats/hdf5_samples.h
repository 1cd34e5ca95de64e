// Samples of an HDF5 file to predict for: its inputs and, if it has any, their targets.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include <spire/run_config.h>

#include "engine/data/formats/hdf5_array.h"

namespace spire::inline data {

bool is_hdf5(const std::filesystem::path& path);  // whether the file begins as HDF5 files do

class Hdf5Samples {  // not thread-safe; needs an h5::Session, also in its destructor
 public:
  // names: of the datasets. One that the file lacks, or "auto", is the first of images, features
  // and tokens in the group test, at the top of the file, or in train; and beside the input the
  // first of labels, values, targets, target_images and masks, if there is one. Throws Error(data)
  // for a file without an input, and what Hdf5Array throws.
  Hdf5Samples(const std::filesystem::path& file, const ArrayNames& names);

  const Hdf5Array& input() const { return *input_; }
  const Hdf5Array* target() const { return target_ ? &*target_ : nullptr; }  // null: none
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened
  // Throws FileChanged if the file was written since.
  void require_unchanged() const;

 private:
  std::filesystem::path path_;
  h5::Handle file_;
  FileStamp stamp_;
  Hdf5LinkResolver links_;
  std::optional<Hdf5Array> input_, target_;
};

}  // namespace spire::inline data
