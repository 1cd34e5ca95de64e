// From a row of an HDF5 file to a row of a batch: numbers are checked, normalized and converted.
#pragma once
#include <optional>

#include "engine/data/dataset.h"
#include "engine/data/images/augment.h"

namespace spire::inline data {

// Immutable, so any thread may use it.
class StoredRowWriter {
 public:
  // `spec` says what is written; `input` the type of stored features; `places`, for messages, where
  // input and target are stored.
  StoredRowWriter(const SampleSpec& spec, DType input, std::vector<std::string> places,
                  const AugmentConfig& augment, const ReadOptions& options);

  // The stored input and target of `sample` -> row `row` of the columns. Throws Error(data) for a
  // number that is not finite, or a label or token that is no class.
  void write(const std::byte* input, const std::byte* target, int64_t sample, int64_t epoch,
             size_t row, std::span<std::byte* const> columns) const;

 private:
  void write_input(const std::byte* stored, int64_t sample, int64_t epoch, std::byte* out) const;
  double normalized(double x, size_t feature, int64_t sample) const;
  void write_classes(size_t column, const std::byte* stored, int64_t sample, std::byte* out) const;
  void write_values(const float* stored, int64_t sample, std::byte* out) const;

  const SampleSpec spec_;
  DType input_;
  bool stored_;  // features are written as they are
  std::vector<std::string> places_;
  std::optional<ImageWriter> images_;
};

}  // namespace spire::inline data
