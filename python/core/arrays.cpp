// Arrays of Python, of NumPy or by DLPack, as arrays of the engine, and its numbers as arrays.
#include "engine/base/fail.h"
#include "python/core/bindings.h"

namespace spire::python {
namespace {

DType dtype_of_array(const nb::ndarray<nb::ro>& array, const std::string& column) {
  if (array.dtype() == nb::dtype<float>()) return DType::f32;
  if (array.dtype() == nb::dtype<double>()) return DType::f64;
  if (array.dtype() == nb::dtype<uint8_t>()) return DType::u8;
  if (array.dtype() == nb::dtype<int32_t>()) return DType::i32;
  fail(Category::data, "array '{}': its dtype is none of float32, float64, uint8, int32", column);
}

DeviceId device_of(const nb::ndarray<nb::ro>& array, const std::string& column) {
  if (array.device_type() == nb::device::cpu::value) return {};
  if (array.device_type() == nb::device::cuda::value) return {DeviceKind::cuda, array.device_id()};
  fail(Category::data, "array '{}': it is neither in the host's memory nor on a GPU of CUDA",
       column);
}

}  // namespace

std::vector<Array> arrays_of(const NamedArrays& named) {
  std::vector<Array> arrays;
  for (const auto& [column, array] : named) {
    if (array.ndim() > static_cast<size_t>(Shape::max_rank))
      fail(Category::data, "array '{}': it has {} axes; {} are the most", column, array.ndim(),
           Shape::max_rank);
    std::vector<int64_t> dims, strides;
    for (size_t axis = 0; axis < array.ndim(); ++axis) {
      dims.push_back(static_cast<int64_t>(array.shape(axis)));
      strides.push_back(array.stride(axis));
    }
    arrays.push_back({column, array.data(), dtype_of_array(array, column), Shape(dims), strides,
                      device_of(array, column)});
  }
  return arrays;
}

Outputs numpy_of(float* values, const Shape& shape, nb::handle owner) {
  std::vector<size_t> dims(shape.dims().begin(), shape.dims().end());
  return Outputs(values, dims.size(), dims.data(), owner);
}

Outputs numpy_of(std::vector<float> values, const Shape& shape) {
  auto* kept = new std::vector<float>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  return numpy_of(kept->data(), shape, owner);
}

Shape shape_of_rows(int64_t rows, const Shape& row) {
  std::vector<int64_t> dims{rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return Shape(dims);
}

Outputs outputs_of(std::vector<float> values, int64_t rows, const Shape& row) {
  return numpy_of(std::move(values), shape_of_rows(rows, row));
}

}  // namespace spire::python
