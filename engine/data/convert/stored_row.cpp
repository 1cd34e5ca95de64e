#include "engine/data/convert/stored_row.h"

#include <cmath>
#include <cstring>
#include <utility>

#include <spire/error.h>

#include "engine/base/message_words.h"

namespace spire::inline data {
namespace {

void put_number(double x, DType dtype, size_t place, std::byte* out) {
  if (dtype == DType::f64) {
    reinterpret_cast<double*>(out)[place] = x;
  } else {
    with_any_float_type(dtype, [&](auto type) {
      reinterpret_cast<decltype(type)*>(out)[place] = static_cast<float>(x);
    });
  }
}

}  // namespace

StoredRowWriter::StoredRowWriter(const SampleSpec& spec, DType input,
                                 std::vector<std::string> places, const AugmentConfig& augment,
                                 const ReadOptions& options)
    : spec_(spec), input_(input), stored_(options.stored), places_(std::move(places)) {
  const Column& written = spec_.columns[0];
  if (written.name == "images") {
    images_.emplace(written.shape, spec_.normalization, options.image_dtype(), augment,
                    options.seed);
  } else if (augment.crop != 0 || augment.flip) {
    fail(Category::config,
         "data.augment: needs images, but {} contains {}; remove the keys of data.augment",
         places_[0], written.name);
  }
}

void StoredRowWriter::write(const std::byte* input, const std::byte* target, int64_t sample,
                            int64_t epoch, size_t row, std::span<std::byte* const> columns) const {
  write_input(input, sample, epoch, columns[0] + row * spec_.columns[0].row_bytes());
  std::byte* out = columns[1] + row * spec_.columns[1].row_bytes();
  if (spec_.columns[1].dtype == DType::i32) {
    write_classes(1, target, sample, out);
  } else {
    write_values(reinterpret_cast<const float*>(target), sample, out);
  }
}

void StoredRowWriter::write_input(const std::byte* stored, int64_t sample, int64_t epoch,
                                  std::byte* out) const {
  if (images_) return images_->write(reinterpret_cast<const uint8_t*>(stored), epoch, sample, out);
  if (spec_.columns[0].dtype == DType::i32) return write_classes(0, stored, sample, out);
  auto width = static_cast<size_t>(spec_.columns[0].shape[0]);
  for (size_t f = 0; f < width; ++f) {
    double x = input_ == DType::f64 ? reinterpret_cast<const double*>(stored)[f]
                                    : reinterpret_cast<const float*>(stored)[f];
    put_number(normalized(x, f, sample), spec_.columns[0].dtype, f, out);
  }
}

double StoredRowWriter::normalized(double x, size_t feature, int64_t sample) const {
  if (!std::isfinite(x))
    fail(Category::data, "{}: sample {}: feature {} is {}", places_[0], sample, feature,
         unsigned_nan(x));
  const Normalization& by = spec_.normalization;
  return stored_ ? x : (x - by.mean[feature]) / by.stddev[feature];
}

// Labels and tokens.
void StoredRowWriter::write_classes(size_t column, const std::byte* stored, int64_t sample,
                                    std::byte* out) const {
  const auto* numbers = reinterpret_cast<const int32_t*>(stored);
  for (int64_t i = 0; i < spec_.columns[column].shape.elements(); ++i)
    if (numbers[i] < 0 || numbers[i] >= spec_.classes)
      fail(Category::data, "{}: sample {}: {} {}, expected 0 to {}", places_[column], sample,
           spec_.columns[column].name == "labels" ? "label" : "token", numbers[i],
           spec_.classes - 1);
  std::memcpy(out, stored, spec_.columns[column].row_bytes());
}

void StoredRowWriter::write_values(const float* stored, int64_t sample, std::byte* out) const {
  for (int64_t i = 0; i < spec_.columns[1].shape.elements(); ++i)
    if (!std::isfinite(stored[i]))
      fail(Category::data, "{}: sample {}: value {} is {}", places_[1], sample, i, stored[i]);
  std::memcpy(out, stored, spec_.columns[1].row_bytes());
}

}  // namespace spire::inline data
