#include "engine/train/tensor_observer.h"

#include <cmath>
#include <cstring>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"

namespace spire {
namespace {

template <typename T>
T load(std::span<const std::byte> values, int64_t index) {
  T value;
  std::memcpy(&value, values.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

bool is_float(DType dtype) {
  return dtype != DType::i32 && dtype != DType::u8;
}

// Who looks for the cause of a failure must not fail for want of pinned memory: copies into plain
// memory are slower, and that is all.
std::unique_ptr<DeviceMemory> staging_for(DeviceId device, size_t bytes) {
  try {
    return allocate_staging(device, bytes);
  } catch (const Error& error) {
    if (error.category() != Category::out_of_memory) throw;
  }
  return allocate_memory({DeviceKind::cpu, 0}, bytes);
}

}  // namespace

double element_value(DType dtype, std::span<const std::byte> values, int64_t index) {
  if (dtype == DType::f64) return load<double>(values, index);
  if (dtype == DType::i32) return load<int32_t>(values, index);
  if (dtype == DType::u8) return load<uint8_t>(values, index);
  return with_any_float_type(dtype, [&](auto type) {
    return static_cast<double>(static_cast<float>(load<decltype(type)>(values, index)));
  });
}

std::string coordinates(const TensorSpec& spec, int64_t index) {
  std::vector<int64_t> at(spec.shape.dims().begin(), spec.shape.dims().end());
  bool last = true;
  for (auto dim = at.rbegin(); dim != at.rend(); ++dim) {
    int64_t size = last ? spec.pitch() : *dim;
    *dim = index % size;
    index /= size;
    last = false;
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

void TowerTap::on_tensor(const PlanTensor& tensor) {
  size_t bytes = tensor.spec.bytes();
  const void* data = tensor.data;
  if (stream_.device().kind != DeviceKind::cpu) {
    if (!staging_ || staging_->bytes() < bytes) {
      staging_.reset();
      staging_ = staging_for(stream_.device(), bytes);
    }
    stream_.copy(staging_->as<std::byte>(), data, bytes);
    stream_.synchronize();
    data = staging_->as<std::byte>();
  }
  observer_.on_tensor(tower_, tensor.name, tensor.spec,
                      {static_cast<const std::byte*>(data), bytes});
}

void TensorRecorder::on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                               std::span<const std::byte> values) {
  towers_[static_cast<size_t>(tower)].push_back({name, spec, hash64(values.data(), values.size())});
}

void TensorCopy::on_tensor(int tower, const TensorName&, const TensorSpec&,
                           std::span<const std::byte> values) {
  if (tower == tower_ && seen_++ == index_) values_.assign(values.begin(), values.end());
}

void NonFiniteSearch::on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                                std::span<const std::byte> values) {
  auto& found = towers_[static_cast<size_t>(tower)];
  if (found || !is_float(spec.dtype)) return;
  auto count = static_cast<int64_t>(values.size() / size_of(spec.dtype));
  for (int64_t i = 0; i < count; ++i) {
    double value = element_value(spec.dtype, values, i);
    if (std::isfinite(value)) continue;
    found = Finding{name, spec, i, value};
    return;
  }
}

}  // namespace spire
