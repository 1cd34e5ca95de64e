// Arrays of samples from tensors of other libraries, by DLPack (https://dmlc.github.io/dlpack):
// of their DLTensor, whatever header declares it.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spire/dataset.h>
#include <spire/error.h>

namespace spire {

template <typename T>
concept DlpackTensor = requires(const T& t) {
  { t.device.device_id } -> std::convertible_to<int>;
  { t.dtype.bits } -> std::convertible_to<int>;
  { t.shape } -> std::convertible_to<const int64_t*>;
  { t.strides } -> std::convertible_to<const int64_t*>;
  { t.byte_offset } -> std::convertible_to<uint64_t>;
};

// tensor: (N, row) of float32, float64, uint8 or int32, on a GPU also of the 16-bit type of the
// run's precision, where the work that writes it must have ended. Its memory must stay as it is for
// as long as the array is used. Throws Error(config) for other dtypes and devices.
template <DlpackTensor T>
Array array(std::string column, const T& tensor) {
  constexpr int cuda = 2,
                hosts[] = {1, 3, 13};  // DLDeviceType: kDLCPU, kDLCUDAHost, kDLCUDAManaged
  struct Number {
    int code, bits;  // DLDataType
    DType dtype;
  };
  constexpr Number numbers[] = {{2, 32, DType::f32}, {2, 64, DType::f64}, {0, 32, DType::i32},
                                {1, 8, DType::u8},   {2, 16, DType::f16}, {4, 16, DType::bf16}};
  auto refuse = [&](const char* what) {
    throw Error(Category::config, "array '" + column + "': " + what);
  };
  Array made{.column = column,
             .data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset,
             .shape = {}};
  const auto* number = std::find_if(std::begin(numbers), std::end(numbers), [&](const Number& one) {
    return one.code == tensor.dtype.code && one.bits == tensor.dtype.bits;
  });
  if (number == std::end(numbers) || tensor.dtype.lanes != 1)
    refuse("its dtype is none of float32, float64, uint8, int32, float16, bfloat16; convert it");
  made.dtype = number->dtype;
  int device = static_cast<int>(tensor.device.device_type);
  if (device == cuda)
    made.device = {DeviceKind::cuda, tensor.device.device_id};
  else if (std::find(std::begin(hosts), std::end(hosts), device) == std::end(hosts))
    refuse("it is neither in the host's memory nor on a GPU of CUDA");
  if (tensor.ndim < 1 || tensor.ndim > Shape::max_rank) refuse("it has no axis, or more than six");
  auto axes = static_cast<size_t>(tensor.ndim);
  made.shape = Shape(std::span<const int64_t>(tensor.shape, axes));
  if (tensor.strides) made.strides.assign(tensor.strides, tensor.strides + axes);
  return made;
}

}  // namespace spire
