// A column whose rows lie in an array of the calling program, of any strides and dtype.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spire/dataset.h>

#include "engine/device/device_memory.h"

namespace spire {

bool is_image(std::string_view column);
bool holds_indices(std::string_view column);        // numbers of classes or tokens
bool holds_whole_numbers(std::string_view column);  // these, and positions

// Throws Error(data) for an array without a column's name or data, with other strides than its
// shape has axes, of a dtype that no batch takes, or of fractions where whole numbers are wanted.
void check_array(const Array& array);

class ArrayColumn {
 public:
  // dtype: of the rows that read() writes: the array's, or i32 of whole numbers, or a float type.
  // copy: the array's memory need not live on. REQUIRES: check_array() passes.
  ArrayColumn(const Array& array, DType dtype, bool copy);

  const Column& column() const { return column_; }
  const std::string& name() const { return column_.name; }

  // Writes one sample's row. Bytes of images become x / 255. Thread-safe.
  void read(int64_t sample, std::byte* row) const;

 private:
  bool is_dense() const;
  void take_copy();
  template <typename From>
  void convert(const std::byte* from, std::byte* row) const;
  template <typename From, typename Visit>
  void each_element(int axis, const From* first, const Visit& visit) const;

  Array array_;
  DType dtype_;
  Column column_;
  float scale_ = 1;
  bool copies_rows_ = false;              // rows lie in the array as in a batch
  std::vector<int64_t> strides_;          // elements
  std::shared_ptr<DeviceMemory> copy_{};  // of the array's memory
};

}  // namespace spire
