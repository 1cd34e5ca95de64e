#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/formats/row_dataset.h"
#include "engine/data/images/image_dataset.h"

namespace spire {
namespace {

constexpr double largest_f16 = 65519;  // larger numbers round to infinity

// Stores x as element `index` of an array of `dtype`.
void put_number(double x, DType dtype, size_t index, std::byte* out) {
  if (dtype == DType::f64) {
    reinterpret_cast<double*>(out)[index] = x;
  } else {
    with_any_float_type(dtype, [&](auto type) {
      reinterpret_cast<decltype(type)*>(out)[index] = static_cast<float>(x);
    });
  }
}

}  // namespace

RowDecoder::RowDecoder(const SampleSpec& spec, StoredRow stored, const DataConfig& config,
                       const AugmentConfig& augment, const StoredSizing& sizing,
                       const ReadOptions& options)
    : spec_(spec), stored_(std::move(stored)) {
  Column& written = spec_.columns[0];
  // Beside labels tokens have a vocabulary of their own, which the model's layers know.
  tokens_ = spec_.find("targets") ? spec_.classes : std::numeric_limits<int32_t>::max();
  if (!options.as_stored) normalization_ = spec_.normalization;
  if (stored_.input == DType::u8) {
    images_.emplace(written.shape, sizing, input_normalization(spec_), augment, options,
                    spec_.find("target_images") ? Outside::edges : Outside::black);
    written.shape = images_->shape();
  } else if (changes_pixels(augment)) {
    fail(Category::config,
         "data.augment: needs images of 8 bits, but {} contains {}; remove the keys of "
         "data.augment{}",
         stored_.locations[0], written.name,
         written.name == "images" ? ", or store the images as uint8" : "");
  } else if (written.name == "images" && sizing.size != 0) {
    fail(Category::config,
         "data.image.size, eval_size: needs images of 8 bits, but {} contains others; store them "
         "as uint8, or "
         "use 0",
         stored_.locations[0]);
  }
  prepare_target(config, augment, options);
}

// Target images and masks move as their images do. Inputs to predict for have no target.
void RowDecoder::prepare_target(const DataConfig& config, const AugmentConfig& augment,
                                const ReadOptions& options) {
  if (spec_.columns.size() < 2) return;
  const Column& target = spec_.columns[1];
  bool has_pixels = target.name == "target_images" || target.name == "masks";
  if (has_pixels && images_ && images_->resizes())
    fail(Category::config,
         "data.image.size, eval_size: images with {} in {} keep their size; use 0, and no "
         "data.augment.random_resized_crop",
         target.name, stored_.locations[1]);
  if (has_pixels) require_targets_follow(augment);
  AugmentConfig geometric = geometric_part(augment);
  if (target.name == "target_images")
    targets_.emplace(target.shape, target_normalization(spec_), options.image_dtype(), geometric,
                     options.seed, Outside::edges);
  if (target.name != "masks") return;
  if (options.as_stored) {
    targets_.emplace(Shape{target.shape[0], target.shape[1], 1}, Normalization{{0.0}, {1.0}},
                     DType::u8, geometric, options.seed);
    return;
  }
  masks_.emplace(spec_.classes, config.pairs.ignore_label);
  targets_.emplace(target.shape, *masks_, geometric, options.seed);
}

// Writes a target image or a mask.
void RowDecoder::write_pixels(const uint8_t* stored, int64_t sample, int64_t epoch,
                              std::byte* out) const {
  const Shape& shape = spec_.columns[1].shape;
  try {
    if (masks_) masks_->check({stored, static_cast<size_t>(shape.elements())}, shape[1]);
  } catch (const Error& error) {
    fail(Category::data, "{}: sample {}: {}", stored_.locations[1], stored_.row_of(sample),
         error.what());
  }
  targets_->write(stored, epoch, sample, out);
}

void RowDecoder::write(const std::byte* input, const std::byte* target, int64_t sample,
                       int64_t epoch, size_t row, std::span<std::byte* const> columns) const {
  write_input(input, sample, epoch, columns[0] + row * spec_.columns[0].row_bytes());
  std::byte* out = columns[1] + row * spec_.columns[1].row_bytes();
  if (targets_) {
    write_pixels(reinterpret_cast<const uint8_t*>(target), sample, epoch, out);
  } else if (spec_.columns[1].dtype == DType::i32) {
    write_classes(1, spec_.classes, target, sample, out);
  } else {
    write_values(reinterpret_cast<const float*>(target), sample, out);
  }
}

void RowDecoder::write_input(const std::byte* stored, int64_t sample, int64_t epoch,
                             std::byte* out) const {
  if (images_) return images_->write(reinterpret_cast<const uint8_t*>(stored), epoch, sample, out);
  if (spec_.columns[0].dtype == DType::i32) return write_classes(0, tokens_, stored, sample, out);
  write_numbers(stored, sample, out);
}

// The last axis has the features, or the channels of images.
void RowDecoder::write_numbers(const std::byte* stored, int64_t sample, std::byte* out) const {
  const Column& column = spec_.columns[0];
  auto count = static_cast<size_t>(column.shape.elements());
  auto width = static_cast<size_t>(column.shape.back());
  const Normalization& by = normalization_;
  double most = column.dtype == DType::f64   ? std::numeric_limits<double>::max()
                : column.dtype == DType::f16 ? largest_f16
                                             : double{std::numeric_limits<float>::max()};
  for (size_t i = 0; i < count; ++i) {
    double read = number(stored, i), x = read;
    if (!by.mean.empty()) x = (x - by.mean[i % width]) / by.stddev[i % width];
    if (!(std::abs(x) <= most))  // or NaN
      fail(Category::data, "{}: sample {}: {} {} is {}{}", stored_.locations[0],
           stored_.row_of(sample), column.name == "images" ? "number" : "feature", i,
           unsigned_nan(read),
           std::isfinite(read) ? ", which is too large: as the model reads it, it is not finite"
                               : "");
    put_number(x, column.dtype, i, out);
  }
}

double RowDecoder::number(const std::byte* stored, size_t index) const {
  if (stored_.input == DType::f64) return reinterpret_cast<const double*>(stored)[index];
  return in_unit(reinterpret_cast<const float*>(stored)[index], stored_.unit);
}

void RowDecoder::refuse_class(size_t column, int64_t classes, int32_t number,
                              int64_t sample) const {
  bool label = spec_.columns[column].name == "labels";
  fail(Category::data, "{}: sample {}: {} {}, expected 0 to {}{}", stored_.locations[column],
       stored_.row_of(sample), label ? "label" : "token", number, classes - 1,
       label ? " (of labels from 1 store y - 1, of -1 and 1 store (y + 1) / 2)" : "");
}

// Writes labels or tokens.
void RowDecoder::write_classes(size_t column, int64_t classes, const std::byte* stored,
                               int64_t sample, std::byte* out) const {
  const auto* numbers = reinterpret_cast<const int32_t*>(stored);
  for (int64_t i = 0; i < spec_.columns[column].shape.elements(); ++i)
    if (numbers[i] < 0 || numbers[i] >= classes) refuse_class(column, classes, numbers[i], sample);
  std::memcpy(out, stored, spec_.columns[column].row_bytes());
}

void RowDecoder::write_values(const float* stored, int64_t sample, std::byte* out) const {
  for (int64_t i = 0; i < spec_.columns[1].shape.elements(); ++i)
    if (!std::isfinite(stored[i]))
      fail(Category::data, "{}: sample {}: value {} is {}", stored_.locations[1],
           stored_.row_of(sample), i, stored[i]);
  std::memcpy(out, stored, spec_.columns[1].row_bytes());
}

}  // namespace spire
