// Arrays of a user's file to predict for: inputs and, if the file has any, their targets.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/formats/row_table.h"

namespace spire::inline inference {

class SampleArrays {  // not thread-safe
 public:
  virtual ~SampleArrays() = default;

  // column: 0 for inputs, 1 for targets, which has_target() says there are.
  virtual bool has_target() const = 0;
  virtual int64_t rows() const = 0;
  virtual StoredArray stored(size_t column) const = 0;
  virtual std::string layout(size_t column) const = 0;  // "x.npy: float32 (3, 2)"
  // Reads a row as numbers of `dtype`, i32, u8 (REQUIRES bytes), f32 or f64. Throws Error(data).
  virtual void read(size_t column, int64_t row, DType dtype, std::byte* out) = 0;

  // Of the classes of labels, and of features; empty: the file does not say.
  virtual std::vector<std::string> class_names() const { return {}; }
  virtual std::vector<std::string> feature_names() const { return {}; }
};

// Whether a file is a .npy, .npz or HDF5 file, by its first bytes.
bool is_array_file(const std::filesystem::path& path);

// Opens such a file. config: names the arrays of an HDF5 file (hdf5.test) and of a .npz file
// (npy.test); a name that the file lacks is looked for as "auto" is, among test samples, then among
// those without a split, then among training samples. The single array of a .npz file is the input,
// whatever it is called. note: takes notes for the user. Throws Error(data).
std::unique_ptr<SampleArrays> open_sample_arrays(
    const std::filesystem::path& path, const DataConfig& config,
    const std::function<void(const std::string&)>& note);

}  // namespace spire::inline inference
