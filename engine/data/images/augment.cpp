// Crops, flips and normalizes in one pass over the pixels: every output pixel is a table lookup.
// Other augmentations need whole images of pixels, and add passes.
#include "engine/data/images/augment.h"

#include <algorithm>
#include <cstring>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/images/pixel_changes.h"

namespace spire {
namespace {

struct Extents {
  int64_t height, width, channels;
};

// Looks up `count` pixels of one row; neighbours are `step` bytes apart: +C, or -C mirrored.
// table: (C, 256).
template <typename T>
void write_pixels(const uint8_t* from, int64_t step, int64_t count, int64_t channels,
                  const T* table, T* out) {
  if (channels == 1) {
    for (int64_t x = 0; x < count; ++x) out[x] = table[from[x * step]];
    return;
  }
  for (int64_t x = 0; x < count; ++x)
    for (int64_t c = 0; c < channels; ++c)
      out[x * channels + c] = table[c * 256 + from[x * step + c]];
}

// Writes pixels outside of the image, which have value `outside` before the lookup.
template <typename T>
void write_padding(int64_t count, int64_t channels, const T* table, uint8_t outside, T* out) {
  for (int64_t x = 0; x < count; ++x)
    for (int64_t c = 0; c < channels; ++c) out[x * channels + c] = table[c * 256 + outside];
}

// Writes an image beyond whose edges there are the nearest pixels.
template <typename T>
void write_extended(const uint8_t* pixels, const Extents& shape, const ImageTransform& place,
                    const T* table, T* out) {
  auto [height, width, channels] = shape;
  for (int64_t y = 0; y < height; ++y) {
    int64_t from_y = std::clamp<int64_t>(y + place.dy, 0, height - 1);
    for (int64_t x = 0; x < width; ++x, out += channels) {
      int64_t from_x = (place.flip ? width - 1 - x : x) + place.dx;
      from_x = std::clamp<int64_t>(from_x, 0, width - 1);
      write_pixels(pixels + (from_y * width + from_x) * channels, channels, 1, channels, table,
                   out);
    }
  }
}

// Writes an image row by row: padding, pixels [first, last), padding.
template <typename T>
void write_padded(const uint8_t* pixels, const Extents& shape, const ImageTransform& place,
                  const T* table, uint8_t outside, T* out) {
  auto [height, width, channels] = shape;
  // x' is inside of the image where 0 <= x' + dx < W. A mirrored row runs backward in x'.
  int64_t first = std::clamp<int64_t>(-place.dx, 0, width);
  int64_t last = std::clamp<int64_t>(width - place.dx, 0, width);
  int64_t from_x = first + place.dx;
  int64_t step = channels;
  if (place.flip) {
    from_x = last - 1 + place.dx;
    step = -channels;
    int64_t mirrored_first = width - last;
    last = width - first;
    first = mirrored_first;
  }
  for (int64_t y = 0; y < height; ++y, out += width * channels) {
    int64_t from_y = y + place.dy;
    if (from_y < 0 || from_y >= height) {
      write_padding(width, channels, table, outside, out);
      continue;
    }
    write_padding(first, channels, table, outside, out);
    write_pixels(pixels + (from_y * width + from_x) * channels, step, last - first, channels, table,
                 out + first * channels);
    write_padding(width - last, channels, table, outside, out + last * channels);
  }
}

template <typename T>
void write_image(const uint8_t* pixels, const Extents& shape, const ImageTransform& place,
                 const T* table, std::optional<uint8_t> outside, T* out) {
  outside ? write_padded(pixels, shape, place, table, *outside, out)
          : write_extended(pixels, shape, place, table, out);
}

// Returns a table (C, 256) that keeps pixel values.
std::vector<uint8_t> make_identity(int64_t channels) {
  std::vector<uint8_t> table(static_cast<size_t>(256 * channels));
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i % 256);
  return table;
}

// Returns the table (C, 256) of (v / 255 - mean) / stddev, computed in fp64 and rounded once to T.
template <typename T>
std::vector<std::byte> make_table(const Normalization& normalization) {
  std::vector<std::byte> table(normalization.mean.size() * 256 * sizeof(T));
  auto* entry = reinterpret_cast<T*>(table.data());
  for (size_t c = 0; c < normalization.mean.size(); ++c)
    for (int v = 0; v < 256; ++v)
      *entry++ = static_cast<float>((v / 255.0 - normalization.mean[c]) / normalization.stddev[c]);
  return table;
}

bool changes_colors(const AugmentConfig& options) {
  return options.color_jitter != ColorJitterConfig{};
}

// Returns whether an augmentation needs a whole image of pixels.
bool works_in_steps(const AugmentConfig& options) {
  return changes_colors(options) || options.affine != AffineConfig{} ||
         options.rand_augment.count > 0;
}

void check_colors(const AugmentConfig& options, int64_t channels) {
  bool known = channels == 1 || channels == 3;
  if (changes_colors(options) && !known)
    fail(Category::config, "data.augment.color_jitter: needs images of 1 or 3 channels, got {}",
         channels);
  if (options.rand_augment.count > 0 && !known)
    fail(Category::config,
         "data.augment.rand_augment: needs images of 1 or 3 channels, got {}; use 0", channels);
  if (options.color_jitter.saturation > 0 && channels == 1)
    fail(Category::config,
         "data.augment.color_jitter.saturation: gray images have no saturation; use 0");
}

void check_crop(const AugmentConfig& options, int64_t height, int64_t width) {
  if (options.crop < 0 || options.crop >= std::min(height, width))
    fail(Category::config, "data.augment.crop: {} is too large for images of {} x {}; use 0 to {}",
         options.crop, height, width, std::min(height, width) - 1);
}

}  // namespace

bool changes_pixels(const AugmentConfig& options) {
  AugmentConfig rest = options;
  rest.mixup = rest.cutmix = 0;
  return rest != AugmentConfig{};
}

ImageTransform image_transform(const AugmentConfig& options, uint64_t seed, int64_t epoch,
                               int64_t sample) {
  // Crop and flip have streams of their own: switching one on leaves the other's draws alone.
  auto e = static_cast<uint64_t>(epoch);
  auto s = static_cast<uint64_t>(sample);
  ImageTransform place;
  if (options.crop > 0) {
    RandomStream stream(seed, Purpose::crop, e, s);
    auto places = static_cast<uint32_t>(2 * options.crop + 1);
    place.dy = stream.below(0, places) - options.crop;
    place.dx = stream.below(1, places) - options.crop;
  }
  if (options.flip) place.flip = RandomStream(seed, Purpose::flip, e, s).below(0, 2) == 1;
  return place;
}

AugmentConfig geometric_part(const AugmentConfig& options) {
  AugmentConfig geometric = options;
  geometric.color_jitter = {};
  geometric.rand_augment = {};
  geometric.erase = {};
  return geometric;
}

void require_targets_follow(const AugmentConfig& options) {
  if (options.rand_augment.count > 0)
    fail(Category::config,
         "data.augment.rand_augment: changes images in ways that their targets cannot follow; use "
         "crop, flip and affine");
}

MaskValues::MaskValues(int64_t classes, int64_t ignore_label)
    : count_(classes), ignore_label_(ignore_label) {
  if (classes < 2 || classes > 255)
    fail(Category::data,
         "masks of {}: give 2 to 255; those of 0 and 255 have 2 (data.pairs.classes, or the "
         "attribute classes of an HDF5 file) and no ignore label (data.pairs.ignore_label: -1)",
         counted(classes, "class"));
  if (ignore_label >= 0 && ignore_label < classes)
    fail(Category::config,
         "data.pairs.ignore_label: {} is one of the {} classes, 0 to {}; use -1 for none, or "
         "another value",
         ignore_label, classes, classes - 1);
  classes_.fill(invalid);
  for (int64_t c = 0; c < classes; ++c) classes_[static_cast<size_t>(c)] = static_cast<int32_t>(c);
  if (ignore_label < 0 && classes == 2) classes_[255] = 1;
  auto free = std::find(classes_.rbegin(), classes_.rend(), invalid);
  outside_ = static_cast<uint8_t>(ignore_label >= 0 ? ignore_label : classes_.rend() - free - 1);
  classes_[outside_] = unlabelled;
}

void MaskValues::check(std::span<const uint8_t> mask, int64_t width) const {
  auto is_wrong = [&](uint8_t v) {
    return classes_[v] == invalid || (classes_[v] == unlabelled && v != ignore_label_);
  };
  auto wrong = std::ranges::find_if(mask, is_wrong);
  if (wrong == mask.end()) return;
  int64_t at = wrong - mask.begin();
  fail(Category::data, "pixel ({}, {}) of the mask is {}, expected a class from 0 to {}{}",
       at / width, at % width, *wrong, count_ - 1,
       ignore_label_ < 0 ? "" : fmt::format(", or {} for none", ignore_label_));
}

int64_t count_mask_classes(std::span<const uint8_t> pixels, int64_t ignore_label, int64_t so_far) {
  for (uint8_t value : pixels)
    if (int64_t{value} != ignore_label) so_far = std::max(so_far, int64_t{value} + 1);
  return so_far;
}

ImageWriter::ImageWriter(const Shape& shape, const Normalization& normalization, DType dtype,
                         const AugmentConfig& options, uint64_t seed, Outside outside)
    : height_(shape[0]),
      width_(shape[1]),
      channels_(shape[2]),
      dtype_(dtype),
      options_(options),
      seed_(seed) {
  if (outside == Outside::edges) outside_.reset();
  auto channels = static_cast<size_t>(channels_);
  require(normalization.mean.size() == channels && normalization.stddev.size() == channels,
          "normalization of {} channels for images of {}", normalization.mean.size(), channels);
  for (double stddev : normalization.stddev)
    require(stddev > 0, "normalization: stddev {} is not positive", stddev);
  bool plain = dtype == DType::u8 && options == AugmentConfig{};
  require(plain || dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16,
          "images as {}: floats are made, and u8 without augmentation", to_string(dtype));
  check_crop(options, height_, width_);
  check_colors(options, channels_);
  if (works_in_steps(options)) identity_ = make_identity(channels_);
  if (dtype == DType::u8) return;
  with_any_float_type(dtype,
                      [&](auto type) { table_ = make_table<decltype(type)>(normalization); });
}

ImageWriter::ImageWriter(const Shape& shape, const MaskValues& values, const AugmentConfig& options,
                         uint64_t seed)
    : height_(shape[0]),
      width_(shape[1]),
      channels_(1),
      dtype_(DType::i32),
      options_(options),
      seed_(seed),
      outside_(values.outside()),
      table_(sizeof(values.classes())) {
  require(options == geometric_part(options), "masks have no colors to change");
  check_crop(options, height_, width_);
  if (works_in_steps(options)) identity_ = make_identity(channels_);
  std::memcpy(table_.data(), values.classes().data(), table_.size());
}

void ImageWriter::write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const {
  if (dtype_ == DType::u8) {
    std::memcpy(out, pixels, image_bytes());
    return;
  }
  if (dtype_ == DType::i32)
    return write_as(pixels, epoch, sample, reinterpret_cast<const int32_t*>(table_.data()),
                    static_cast<int32_t*>(out));
  with_any_float_type(dtype_, [&](auto type) {
    using T = decltype(type);
    write_as(pixels, epoch, sample, reinterpret_cast<const T*>(table_.data()),
             static_cast<T*>(out));
  });
}

template <typename T>
void ImageWriter::write_as(const uint8_t* pixels, int64_t epoch, int64_t sample, const T* table,
                           T* out) const {
  if (identity_.empty()) {
    ImageTransform place = image_transform(options_, seed_, epoch, sample);
    write_image(pixels, {height_, width_, channels_}, place, table, outside_, out);
  } else {
    write_in_steps(pixels, epoch, sample, table, out);
  }
  if (options_.erase.probability > 0) erase(epoch, sample, out);
}

// The steps work on pixels within `out`, which saves buffers: T has two or more bytes, so two
// images of pixels fit, one at its beginning and one at its end.
template <typename T>
void ImageWriter::write_in_steps(const uint8_t* pixels, int64_t epoch, int64_t sample,
                                 const T* table, T* out) const {
  int64_t count = height_ * width_ * channels_;
  auto* at_end = reinterpret_cast<uint8_t*>(out + count) - count;
  ImageVersions image{.size = {height_, width_},
                      .channels = channels_,
                      .now = at_end,
                      .next = reinterpret_cast<uint8_t*>(out)};
  ImageTransform place = image_transform(options_, seed_, epoch, sample);
  write_image(pixels, {height_, width_, channels_}, place, identity_.data(), outside_, image.now);
  if (options_.affine != AffineConfig{}) {
    AffineParts parts = random_affine(options_.affine, image.size, seed_, epoch, sample);
    // Classes of masks have no values in between.
    auto between = dtype_ == DType::i32 ? Interpolation::nearest : Interpolation::bilinear;
    warp(affine_map(parts), image.size, channels_, between, image.now, image.next, outside_);
    image.renew();
  }
  rand_augment(options_.rand_augment, seed_, epoch, sample, image);
  if (changes_colors(options_))
    change_colors(color_factors(options_.color_jitter, seed_, epoch, sample), channels_,
                  image.pixels());
  if (image.now != at_end) std::memcpy(at_end, image.now, static_cast<size_t>(count));
  // Number i never overwrites a pixel behind i: each is read before its place is written.
  for (int64_t i = 0; i < count; ++i) out[i] = table[i % channels_ * 256 + at_end[i]];
}

template <typename T>
void ImageWriter::erase(int64_t epoch, int64_t sample, T* out) const {
  Rectangle part = erased_rectangle(options_.erase, {height_, width_}, seed_, epoch, sample);
  for (int64_t y = part.top; y < part.top + part.height; ++y)
    std::fill_n(out + (y * width_ + part.left) * channels_, part.width * channels_, T{});
}

size_t ImageWriter::image_bytes() const {
  return static_cast<size_t>(height_ * width_ * channels_) * size_of(dtype_);
}

}  // namespace spire
