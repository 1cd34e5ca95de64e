#include <spire/base/error.h>
#include <spire/base/philox.h>
#include <spire/data/augment.h>

#include <algorithm>

namespace spire {
namespace {

struct ImageShape {
  int64_t height, width, channels;
};

// Looks `count` pixels up; consecutive ones are `step` bytes apart, +C forward or -C mirrored.
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

template <typename T>
void write_padding(int64_t count, int64_t channels, const T* table, T* out) {
  for (int64_t x = 0; x < count; ++x)
    for (int64_t c = 0; c < channels; ++c) out[x * channels + c] = table[c * 256];
}

// One output row = padding, pixels, padding; `first` and `last` bound the pixels within it.
template <typename T>
void write_image(const uint8_t* pixels, const ImageShape& shape, const ImageTransform& place,
                 const T* table, T* out) {
  auto [height, width, channels] = shape;
  // Inside where 0 <= x' + dx < W. Mirrored, x runs the other way.
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
      write_padding(width, channels, table, out);
      continue;
    }
    write_padding(first, channels, table, out);
    write_pixels(pixels + (from_y * width + from_x) * channels, step, last - first, channels, table,
                 out + first * channels);
    write_padding(width - last, channels, table, out + last * channels);
  }
}

template <typename T>
std::vector<T> make_table(const Normalization& normalization) {
  std::vector<T> table;
  for (size_t c = 0; c < normalization.mean.size(); ++c)
    for (int v = 0; v < 256; ++v)
      table.emplace_back(
          static_cast<float>((v / 255.0 - normalization.mean[c]) / normalization.stddev[c]));
  return table;
}

}  // namespace

ImageTransform image_transform(const AugmentOptions& options, uint64_t seed, int64_t epoch,
                               int64_t sample) {
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

ImageWriter::ImageWriter(const Dataset& dataset, const Normalization& normalization, DType dtype,
                         const AugmentOptions& options, uint64_t seed)
    : height_(dataset.height),
      width_(dataset.width),
      channels_(dataset.channels),
      dtype_(dtype),
      options_(options),
      seed_(seed) {
  auto channels = static_cast<size_t>(channels_);
  require(normalization.mean.size() == channels && normalization.stddev.size() == channels,
          "normalization of {} channels for images of {}", normalization.mean.size(), channels);
  for (double stddev : normalization.stddev)
    require(stddev > 0, "normalization: stddev {} is not positive", stddev);
  require(dtype == DType::f32 || dtype == DType::bf16, "images as {}: only f32 and bf16 are made",
          name(dtype));
  if (options.crop < 0 || options.crop >= std::min(height_, width_))
    fail(Category::config, "data.augment.crop: {} for images of {} x {}; choose 0 to {}",
         options.crop, height_, width_, std::min(height_, width_) - 1);
  if (dtype == DType::f32) f32_table_ = make_table<float>(normalization);
  if (dtype == DType::bf16) bf16_table_ = make_table<bfloat16>(normalization);
}

void ImageWriter::write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const {
  ImageTransform place = image_transform(options_, seed_, epoch, sample);
  ImageShape shape{height_, width_, channels_};
  if (dtype_ == DType::f32) {
    write_image(pixels, shape, place, f32_table_.data(), static_cast<float*>(out));
  } else {
    write_image(pixels, shape, place, bf16_table_.data(), static_cast<bfloat16*>(out));
  }
}

size_t ImageWriter::image_bytes() const {
  return static_cast<size_t>(height_ * width_ * channels_) * size_of(dtype_);
}

}  // namespace spire
