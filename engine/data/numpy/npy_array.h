// Arrays in NumPy's .npy files, versions 1.0 to 3.0 of the format, read row by row. Format:
// numpy.lib.format, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/formats/row_table.h"
#include "engine/data/numpy/zip_file.h"
#include "engine/data/part_names.h"

namespace spire {

class NpyArray {  // all methods are thread-safe
 public:
  // Reads the header. Throws Error(data), with what to type in NumPy, for arrays of other types
  // than integers, floats and bool, in Fortran's order, or of another byte order than this
  // machine's.
  explicit NpyArray(ByteSource bytes);
  explicit NpyArray(const std::filesystem::path& path) : NpyArray(ByteSource(path)) {}

  const std::filesystem::path& path() const { return source_.path(); }  // of the file or archive
  const std::string& location() const { return source_.location(); }
  int64_t rows() const { return shape_[0]; }
  const std::vector<int64_t>& shape() const { return shape_; }  // (N, ...), rank >= 1
  StoredArray stored() const;

  // Reads rows [first, first + rows) as numbers of `dtype`, i32 (saturated), u8 (REQUIRES bytes),
  // f32 or f64. memory: scratch for the stored bytes of these rows, resized as needed.
  void read(int64_t first, int64_t rows, DType dtype, std::vector<std::byte>& memory,
            std::byte* out) const;
  // Throws Error(data) if the bytes do not match the checksum in their archive. A .npy file has
  // none.
  void verify() const { source_.verify(); }
  std::string layout() const;  // "x_train.npy: float32 (60000, 28, 28)"

 private:
  void parse(std::string_view header);
  void check_size() const;
  int64_t row_elements() const;

  ByteSource source_;
  char kind_ = 'f';   // b, i, u or f
  size_t bytes_ = 4;  // of an element
  std::vector<int64_t> shape_;
  uint64_t offset_ = 0;  // of the first element
};

// Input and target in two arrays, or some of their rows.
class NpyTable : public RowTable {
 public:
  // target: null if there is none. rows: in ascending order; empty: all. Throws Error(data) unless
  // both have as many rows.
  NpyTable(std::shared_ptr<const NpyArray> input, std::shared_ptr<const NpyArray> target,
           std::vector<int64_t> rows);

  bool has_target() const override { return arrays_[1] != nullptr; }
  StoredArray stored(size_t column) const override { return array(column).stored(); }
  std::string location(size_t column) const override { return array(column).location(); }
  int64_t stored_row(int64_t sample) const override;
  std::string_view task_key() const override { return "data.npy.task"; }
  void read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const override;

  std::vector<std::string> layout() const override;
  std::vector<std::filesystem::path> files() const override;
  void verify_files() const override;

 private:
  const NpyArray& array(size_t column) const { return *arrays_[column]; }
  int64_t neighbours(int64_t first, int64_t rows) const;

  std::vector<std::shared_ptr<const NpyArray>> arrays_;
  std::vector<int64_t> rows_;
};

// A set of NumPy's arrays: the .npy files of a folder, or the entries of a .npz archive; and which
// of them are inputs and targets.

class NpySet {  // not thread-safe; the arrays that it opens are
 public:
  // Throws Error(data) for a damaged archive.
  explicit NpySet(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  bool is_archive() const { return archive_ != nullptr; }
  // Names have no ".npy".
  const std::vector<std::string>& names() const { return names_; }  // a folder's sorted
  bool has(const std::string& name) const;
  // Throws Error(data), as NpyArray and ZipFile do.
  std::shared_ptr<const NpyArray> open(const std::string& name) const;

 private:
  std::string entry_of(const std::string& name) const;

  std::filesystem::path path_;
  std::unique_ptr<ZipFile> archive_;
  std::vector<std::string> names_;
};

enum class NpyRole { input, target };

// Returns the name of the input or target of a part; nullopt: the set has none. configured:
// data.npy.<part>.<role>; "auto" is the first that there is, in any case, of WORD_train, train_WORD
// (or another word for the part, part_names.h) and, for training, WORD alone. WORD: x, images,
// features or tokens of an input, and y, labels, values, targets, target_images or masks of a
// target. Throws Error(data) where an array that the config names is missing.
std::optional<std::string> find_array(const NpySet& set, NpyRole role, Part part,
                                      const std::string& configured);

// As find_array(), but throws Error(data), with the names that it looks for, where there is none.
std::string require_array(const NpySet& set, NpyRole role, Part part,
                          const std::string& configured);

}  // namespace spire
