// Samples as the rows of two arrays, input and target, in files of any format; and the columns that
// the arrays' shapes and types give.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/dataset.h>

namespace spire {

enum class Numbers : uint8_t { bytes, words16, integers, floats };  // words16: unsigned, 16 bits

// Returns the last part of an array's location: "x.h5: train/labels" -> "labels", and
// "data/labels_train.npy", "x.npz: train_labels.npy" -> "labels".
std::string array_name(const std::string& location);

struct StoredArray {
  std::string location;  // in messages; its last part is the array's name
  Numbers numbers = Numbers::floats;
  bool exact = true;              // fp32 holds each of its numbers
  std::vector<int64_t> row = {};  // shape of a row
};

struct RowColumns {
  Column input, target;  // with the dtypes in which rows are read
  double unit = 1;       // as RowTable::unit()
};

// Returns the columns of two arrays. Throws Error(data) for shapes that fit no column.
//   input   (N, H, W, C); (N, H, W) of bytes, or called images   images, u8, or f32
//           (N, T) of integers, with targets (N, T) or called tokens   tokens, i32
//           (N, F) of numbers                                    features, f32, or f64 unless exact
//           (N, T, F) of other numbers                           features (T, F), likewise
//   target  (N) or (N, 1) of integers                            labels, i32
//           (N), (N, K) of floating-point numbers                values, f32
//           (N, T) of integers                                   targets, i32
//   of images, with their height and width, of bytes:
//           (N, H, W, C), or (N, H, W) called target_images      target_images, u8
//           (N, H, W)                                            masks, u8
RowColumns row_columns(const StoredArray& input, const StoredArray& target);

class RowTable {  // all methods are thread-safe
 public:
  virtual ~RowTable() = default;

  int64_t count() const { return count_; }
  virtual bool has_target() const { return true; }
  // The arrays of input (0) and target (1), as they are stored.
  virtual StoredArray stored(size_t column) const = 0;
  virtual std::string location(size_t column) const = 0;               // in messages
  virtual int64_t stored_row(int64_t sample) const { return sample; }  // of the arrays

  // Set the columns into which read() converts the arrays: infer_columns() those of row_columns(),
  // set_columns() any. One of the two is called, once, before columns() and before rows are read.
  void infer_columns();
  void set_columns(std::vector<Column> columns, double unit);
  const std::vector<Column>& columns() const { return columns_; }  // input, target
  size_t row_bytes() const { return columns_[0].row_bytes() + columns_[1].row_bytes(); }
  // What the number 1 of the input stands for: 1 / 65535 for images of 16 bits, else 1.
  double unit() const { return unit_; }

  virtual std::string_view task_key() const = 0;  // the key that decides: "data.hdf5.task"
  // Reads rows [first, first + rows) of the columns whose pointer is not null. Throws FileChanged
  // if a file was written since it was opened; the rows are then invalid.
  virtual void read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const = 0;

  virtual int64_t block_rows() const { return 1; }  // number of rows that are read together
  // Copies row samples[r] of column c to columns[c] + r * row_bytes, for at most fetch_rows()
  // samples. After Error(data) the columns are partly written.
  virtual void fetch(std::span<const int64_t> samples, std::span<std::byte* const> columns) const {
    read(samples[0], 1, columns);
  }
  virtual int64_t fetch_rows() const { return 1; }

  // As the methods of Dataset.
  virtual std::vector<std::string> layout() const = 0;
  virtual std::vector<std::filesystem::path> files() const = 0;
  virtual std::optional<RowChecksums> checksums() const { return {}; }
  virtual void verify_files() const {}

  // Return an attribute of an array; empty or nullopt if it is missing. number() throws Error(data)
  // unless it is one number from 0 to 2^31.
  virtual std::vector<double> numbers(size_t, const char*) const { return {}; }
  virtual std::vector<std::string> words(size_t, const char*) const { return {}; }
  std::optional<int64_t> number(size_t column, const char* attribute) const;

 protected:
  int64_t count_ = 0;
  std::vector<Column> columns_;
  double unit_ = 1;
};

}  // namespace spire
