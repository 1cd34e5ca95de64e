// Turns stored rows into rows of a batch: checks and normalizes their numbers.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "engine/data/images/augment.h"

namespace spire::inline data {

struct StoredRow {                     // how RowTable::read() gives rows
  DType input = DType::f32;            // dtype of the input
  double unit = 1;                     // as RowTable::unit()
  std::vector<std::string> locations;  // of input and target, for messages
};

// Returns a stored number of fp32 in its unit.
inline double in_unit(float x, double unit) {
  return unit == 1 ? double{x} : double{static_cast<float>(x * unit)};
}

class RowDecoder {  // immutable, hence thread-safe
 public:
  // spec: of the batch. Throws Error(config) if `augment` asks for images of 8 bits and these are
  // none.
  RowDecoder(const SampleSpec& spec, StoredRow stored, const AugmentConfig& augment,
             const ReadOptions& options);

  // Writes the stored input and target of `sample` to row `row` of the columns. Throws Error(data)
  // for a number that is not finite, or a label or token out of range.
  void write(const std::byte* input, const std::byte* target, int64_t sample, int64_t epoch,
             size_t row, std::span<std::byte* const> columns) const;

  // Writes the input alone.
  void write_input(const std::byte* stored, int64_t sample, int64_t epoch, std::byte* out) const;

 private:
  void write_numbers(const std::byte* stored, int64_t sample, std::byte* out) const;
  double number(const std::byte* stored, size_t index) const;
  void write_classes(size_t column, int64_t classes, const std::byte* stored, int64_t sample,
                     std::byte* out) const;
  void write_values(const float* stored, int64_t sample, std::byte* out) const;

  const SampleSpec spec_;
  StoredRow stored_;
  Normalization normalization_;        // empty: numbers stay as they are
  int64_t tokens_ = 0;                 // ids of tokens are below it
  std::optional<ImageWriter> images_;  // of 8 bits
};

}  // namespace spire::inline data
