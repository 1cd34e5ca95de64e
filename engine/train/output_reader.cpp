#include "engine/train/output_reader.h"

#include <algorithm>

namespace spire {

void copy_rows(const TensorSpec& spec, const void* from, std::span<float> to) {
  bool padded = spec.row_pitch > 0;
  size_t row = padded ? static_cast<size_t>(spec.shape.back()) : to.size();
  size_t row_bytes = static_cast<size_t>(spec.row_pitch) * size_of(spec.dtype);
  const auto* at = static_cast<const std::byte*>(from);
  for (; !to.empty(); at += row_bytes) {
    auto part = to.first(std::min(row, to.size()));
    copy_floats(at, spec.dtype, part);
    to = to.subspan(part.size());
  }
}

OutputReader::OutputReader(const TensorSpec& largest, Stream& stream)
    : stream_(stream),
      staged_(allocate_staging(stream.device(), largest.bytes())),
      floats_(static_cast<size_t>(largest.shape.elements())) {}

std::span<const float> OutputReader::read(const TensorSpec& spec, const void* from) {
  stream_.copy(staged_->data(), from, spec.bytes());
  stream_.synchronize();
  std::span<float> floats = std::span(floats_).first(static_cast<size_t>(spec.shape.elements()));
  copy_rows(spec, staged_->data(), floats);
  return floats;
}

}  // namespace spire
