#include "engine/data/images/pixel_changes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include <spire/random_stream.h>

namespace spire {
namespace {

constexpr int64_t one = ColorFactors::one;

using ValueTable = std::array<uint8_t, 256>;   // what becomes of each value
using ValueCounts = std::array<int64_t, 256>;  // how often each value occurs

template <typename Change>
ValueTable table_of(const Change& change) {
  ValueTable table;
  for (int64_t v = 0; v < 256; ++v) table[static_cast<size_t>(v)] = static_cast<uint8_t>(change(v));
  return table;
}

void replace(const ValueTable& table, std::span<uint8_t> pixels) {
  for (uint8_t& value : pixels) value = table[value];
}

// Calls use(value) for each value of one channel, which may change it.
template <typename Use>
void for_channel(int64_t channel, int64_t channels, std::span<uint8_t> pixels, const Use& use) {
  for (auto i = static_cast<size_t>(channel); i < pixels.size(); i += static_cast<size_t>(channels))
    use(pixels[i]);
}

ValueCounts counts_of(int64_t channel, int64_t channels, std::span<uint8_t> pixels) {
  ValueCounts counts{};
  for_channel(channel, channels, pixels, [&](uint8_t value) { ++counts[value]; });
  return counts;
}

void replace(const ValueTable& table, int64_t channel, int64_t channels,
             std::span<uint8_t> pixels) {
  for_channel(channel, channels, pixels, [&](uint8_t& value) { value = table[value]; });
}

// Returns from + (to - from) x factor, rounded and clamped to a pixel value.
uint8_t blend(int64_t from, int64_t to, int64_t factor) {
  int64_t value = from * (one - factor) + to * factor + one / 2;
  return static_cast<uint8_t>(std::clamp<int64_t>(value >> 16, 0, 255));
}

// ITU-R BT.601 luma; the weights are in units of 1 / 65536 and sum to one.
int64_t gray_of(const uint8_t* pixel, int64_t channels) {
  if (channels == 1) return pixel[0];
  return (19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + one / 2) >> 16;
}

int64_t mean_gray(int64_t channels, std::span<const uint8_t> pixels) {
  int64_t sum = 0, count = std::ssize(pixels) / channels;
  for (int64_t i = 0; i < count; ++i) sum += gray_of(pixels.data() + i * channels, channels);
  return (sum + count / 2) / count;
}

void blend_all(int64_t from, int64_t factor, std::span<uint8_t> pixels) {
  replace(table_of([&](int64_t v) { return blend(from, v, factor); }), pixels);
}

void saturate(int64_t factor, std::span<uint8_t> pixels) {
  for (size_t i = 0; i + 2 < pixels.size(); i += 3) {
    int64_t gray = gray_of(pixels.data() + i, 3);
    for (size_t c = 0; c < 3; ++c) pixels[i + c] = blend(gray, pixels[i + c], factor);
  }
}

// One row between others, without its first and last pixel. row: bytes of a row.
void sharpen_row(int64_t factor, const uint8_t* from, int64_t row, int64_t channels, uint8_t* out) {
  for (int64_t i = channels; i < row - channels; ++i) {
    const uint8_t* at = from + i;
    int64_t sum = 4 * at[0];
    for (const uint8_t* line : {at - row, at, at + row})
      sum += line[-channels] + line[0] + line[channels];
    out[i] = blend((sum + 6) / 13, at[0], factor);
  }
}

}  // namespace

ColorFactors color_factors(const ColorJitterConfig& config, uint64_t seed, int64_t epoch,
                           int64_t sample) {
  const RandomStream draws(seed, Purpose::color_jitter, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  auto factor = [&](double strength, uint64_t draw) {
    double low = std::max(0.0, 1 - strength), high = 1 + strength;
    return static_cast<int32_t>(std::lround((low + (high - low) * draws.uniform(draw)) * one));
  };
  return {factor(config.brightness, 0), factor(config.contrast, 1), factor(config.saturation, 2)};
}

void change_colors(const ColorFactors& factors, int64_t channels, std::span<uint8_t> pixels) {
  if (factors.brightness != one) blend_all(0, factors.brightness, pixels);
  if (factors.contrast != one) blend_all(mean_gray(channels, pixels), factors.contrast, pixels);
  if (factors.saturation != one && channels == 3) saturate(factors.saturation, pixels);
}

void stretch_contrast(int64_t channels, std::span<uint8_t> pixels) {
  for (int64_t c = 0; c < channels; ++c) {
    int64_t low = 255, high = 0;
    for_channel(c, channels, pixels, [&](int64_t value) {
      low = std::min(low, value);
      high = std::max(high, value);
    });
    if (low >= high) continue;
    replace(table_of([&](int64_t v) {
              return std::clamp<int64_t>(255 * (v - low) / (high - low), 0, 255);
            }),
            c, channels, pixels);
  }
}

// Pillow's ImageOps.equalize: a value's rank in steps of 1 / 255 of the pixels, those of the
// largest value left aside.
void equalize(int64_t channels, std::span<uint8_t> pixels) {
  for (int64_t c = 0; c < channels; ++c) {
    ValueCounts counts = counts_of(c, channels, pixels);
    size_t largest = 255;
    while (largest > 0 && counts[largest] == 0) --largest;
    int64_t step = (std::ssize(pixels) / channels - counts[largest]) / 255;
    if (step == 0) continue;
    int64_t rank = step / 2;
    replace(table_of([&](int64_t v) {
              int64_t value = std::min<int64_t>(rank / step, 255);
              rank += counts[static_cast<size_t>(v)];
              return value;
            }),
            c, channels, pixels);
  }
}

void solarize(double threshold, std::span<uint8_t> pixels) {
  replace(table_of([&](int64_t v) { return static_cast<double>(v) < threshold ? v : 255 - v; }),
          pixels);
}

void posterize(int bits, std::span<uint8_t> pixels) {
  int64_t mask = 256 - (int64_t{1} << (8 - bits));
  for (uint8_t& value : pixels) value = static_cast<uint8_t>(value & mask);
}

void sharpen(int32_t factor, ImageSize size, int64_t channels, const uint8_t* from, uint8_t* out) {
  int64_t row = size.width * channels;
  std::memcpy(out, from, static_cast<size_t>(size.height * row));
  for (int64_t y = 1; y + 1 < size.height; ++y)
    sharpen_row(factor, from + y * row, row, channels, out + y * row);
}

namespace {

constexpr int coordinate_bits = 16;  // of coordinates

int64_t fixed(double value) {
  return static_cast<int64_t>(std::floor(value * (1 << coordinate_bits) + 0.5));
}

double radians(double degrees) {
  return degrees * std::numbers::pi / 180;
}

// Picks the pixel in which the point (x, y) lies. n: channels, 0 if not known when compiled.
template <int64_t n>
void pick_nearest(const uint8_t* from, ImageSize size, int64_t channels, int64_t x, int64_t y,
                  uint8_t* out) {
  const int64_t count = n == 0 ? channels : n;
  const uint8_t* pixel =
      from + ((y >> coordinate_bits) * size.width + (x >> coordinate_bits)) * count;
  for (int64_t c = 0; c < count; ++c) out[c] = pixel[c];
}

// Blends the four pixels around the point, by weights of 11 bits. At the edges they are repeated.
template <int64_t n>
void pick_bilinear(const uint8_t* from, ImageSize size, int64_t channels, int64_t x, int64_t y,
                   uint8_t* out) {
  constexpr int bits = 11;
  constexpr int32_t all = 1 << bits, rounding = 1 << (2 * bits - 1);
  constexpr int64_t half = int64_t{1} << (coordinate_bits - 1);
  const int64_t count = n == 0 ? channels : n;
  auto share = [](int64_t at) {
    return static_cast<int32_t>(at >> (coordinate_bits - bits)) & (all - 1);
  };
  x -= half, y -= half;  // from the middle of pixel (0, 0)
  int64_t left = x >> coordinate_bits, top = y >> coordinate_bits;
  int64_t right = std::min(left + 1, size.width - 1), bottom = std::min(top + 1, size.height - 1);
  left = std::max<int64_t>(left, 0), top = std::max<int64_t>(top, 0);
  const uint8_t* upper = from + top * size.width * count;
  const uint8_t* lower = from + bottom * size.width * count;
  int32_t wx = share(x), wy = share(y);
  for (int64_t c = 0; c < count; ++c) {
    int32_t above = upper[left * count + c] * (all - wx) + upper[right * count + c] * wx;
    int32_t below = lower[left * count + c] * (all - wx) + lower[right * count + c] * wx;
    out[c] = static_cast<uint8_t>((above * (all - wy) + below * wy + rounding) >> (2 * bits));
  }
}

template <auto pick>
void warp_by(const AffineMap& map, ImageSize size, int64_t channels, const uint8_t* from,
             uint8_t* out, std::optional<uint8_t> outside) {
  const int64_t width = size.width << coordinate_bits, height = size.height << coordinate_bits;
  for (int64_t row = 0; row < size.height; ++row) {
    int64_t x = map.x + row * map.down_x, y = map.y + row * map.down_y;
    for (int64_t column = 0; column < size.width; ++column, out += channels) {
      bool inside = x >= 0 && x < width && y >= 0 && y < height;
      if (inside || !outside) {
        pick(from, size, channels, std::clamp<int64_t>(x, 0, width - 1),
             std::clamp<int64_t>(y, 0, height - 1), out);
      } else {
        std::fill_n(out, channels, *outside);
      }
      x += map.right_x, y += map.right_y;
    }
  }
}

template <int64_t n>
void warp_channels(const AffineMap& map, ImageSize size, int64_t channels,
                   Interpolation interpolation, const uint8_t* from, uint8_t* out,
                   std::optional<uint8_t> outside) {
  if (interpolation == Interpolation::nearest) {
    warp_by<pick_nearest<n>>(map, size, channels, from, out, outside);
  } else {
    warp_by<pick_bilinear<n>>(map, size, channels, from, out, outside);
  }
}

}  // namespace

// The map is T C S R H C^-1: to the center and back (C), shear, rotation, scale, translation (T).
AffineMap affine_map(const AffineParts& parts) {
  double angle = radians(parts.rotate), sx = std::tan(radians(parts.shear_x));
  double sy = radians(parts.shear_y);
  double a = std::cos(angle - sy) / std::cos(sy), b = -a * sx - std::sin(angle);
  double c = std::sin(angle - sy) / std::cos(sy), d = -c * sx + std::cos(angle);
  // [a b; c d] has determinant 1: its inverse is [d -b; -c a].
  double xx = d / parts.scale, xy = -b / parts.scale, yx = -c / parts.scale, yy = a / parts.scale;
  double from_x = 0.5 - parts.center_x - parts.move_x, from_y = 0.5 - parts.center_y - parts.move_y;
  return {.x = fixed(parts.center_x + xx * from_x + xy * from_y),
          .y = fixed(parts.center_y + yx * from_x + yy * from_y),
          .right_x = fixed(xx),
          .right_y = fixed(yx),
          .down_x = fixed(xy),
          .down_y = fixed(yy)};
}

AffineParts random_affine(const AffineConfig& config, ImageSize size, uint64_t seed, int64_t epoch,
                          int64_t sample) {
  const RandomStream draws(seed, Purpose::affine, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  auto within = [&](double bound, uint64_t draw) {
    return bound * (2.0 * draws.uniform(draw) - 1);
  };
  auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  return {.rotate = within(config.rotate, 0),
          .shear_x = within(config.shear, 1),
          .scale = 1 + within(config.scale, 2),
          .move_x = within(config.translate * width, 3),
          .move_y = within(config.translate * height, 4),
          .center_x = width / 2,
          .center_y = height / 2};
}

void warp(const AffineMap& map, ImageSize size, int64_t channels, Interpolation interpolation,
          const uint8_t* from, uint8_t* out, std::optional<uint8_t> outside) {
  if (channels == 1)
    return warp_channels<1>(map, size, channels, interpolation, from, out, outside);
  if (channels == 3)
    return warp_channels<3>(map, size, channels, interpolation, from, out, outside);
  warp_channels<0>(map, size, channels, interpolation, from, out, outside);
}

namespace {

constexpr double largest_magnitude = 30;

// Shears are about the upper left corner, as in torchvision; rotations about the middle.
AffineParts parts_of(ImageOp op, double signed_share, ImageSize size) {
  auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  constexpr double largest_shear = 0.3, largest_angle = 30, largest_move = 150.0 / 331;
  double shear = std::atan(largest_shear * signed_share) * 180 / std::numbers::pi;
  switch (op) {
    case ImageOp::shear_x:
      return {.shear_x = shear};
    case ImageOp::shear_y:
      return {.shear_y = shear};
    case ImageOp::translate_x:
      return {.move_x = std::trunc(largest_move * signed_share * width)};
    case ImageOp::translate_y:
      return {.move_y = std::trunc(largest_move * signed_share * height)};
    default:  // counterclockwise
      return {
          .rotate = -largest_angle * signed_share, .center_x = width / 2, .center_y = height / 2};
  }
}

void move_pixels(const AffineParts& parts, ImageVersions& image) {
  warp(affine_map(parts), image.size, image.channels, Interpolation::nearest, image.now,
       image.next);
  image.renew();
}

}  // namespace

void apply(ImageOp op, double magnitude, bool negative, ImageVersions& image) {
  double share = magnitude / largest_magnitude, signed_share = negative ? -share : share;
  auto factor = static_cast<int32_t>(std::lround((1 + 0.9 * signed_share) * ColorFactors::one));
  switch (op) {
    case ImageOp::identity:
      return;
    case ImageOp::shear_x:
    case ImageOp::shear_y:
    case ImageOp::translate_x:
    case ImageOp::translate_y:
    case ImageOp::rotate:
      return move_pixels(parts_of(op, signed_share, image.size), image);
    case ImageOp::brightness:
      return change_colors({.brightness = factor}, image.channels, image.pixels());
    case ImageOp::color:
      return change_colors({.saturation = factor}, image.channels, image.pixels());
    case ImageOp::contrast:
      return change_colors({.contrast = factor}, image.channels, image.pixels());
    case ImageOp::sharpness:
      sharpen(factor, image.size, image.channels, image.now, image.next);
      return image.renew();
    case ImageOp::posterize:
      return posterize(8 - static_cast<int>(std::nearbyint(4 * share)), image.pixels());
    case ImageOp::solarize:
      return solarize(255 * (1 - share), image.pixels());
    case ImageOp::autocontrast:
      return stretch_contrast(image.channels, image.pixels());
    case ImageOp::equalize:
      return equalize(image.channels, image.pixels());
  }
}

void rand_augment(const RandAugmentConfig& config, uint64_t seed, int64_t epoch, int64_t sample,
                  ImageVersions& image) {
  const RandomStream draws(seed, Purpose::rand_augment, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  for (uint64_t i = 0; i < static_cast<uint64_t>(config.count); ++i) {
    auto op = static_cast<ImageOp>(draws.below(2 * i, image_op_count));
    apply(op, config.magnitude, draws.below(2 * i + 1, 2) == 1, image);
  }
}

Rectangle erased_rectangle(const EraseConfig& config, ImageSize size, uint64_t seed, int64_t epoch,
                           int64_t sample) {
  const RandomStream draws(seed, Purpose::erase, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  if (!(draws.uniform(0) < config.probability)) return {};
  constexpr uint64_t attempts = 10, draws_per_attempt = 4;
  constexpr double min_ratio = 0.3, max_ratio = 3.3;  // of height to width
  auto area = static_cast<double>(size.height * size.width);
  double shares = config.max_share - config.min_share;
  for (uint64_t i = 1; i < 1 + attempts * draws_per_attempt; i += draws_per_attempt) {
    double erased = area * (config.min_share + shares * draws.uniform(i));
    double ratio = min_ratio * std::pow(max_ratio / min_ratio, double{draws.uniform(i + 1)});
    int64_t height = std::lround(std::sqrt(erased * ratio));
    int64_t width = std::lround(std::sqrt(erased / ratio));
    if (height < 1 || width < 1 || height >= size.height || width >= size.width) continue;
    return {.top = draws.below(i + 2, static_cast<uint32_t>(size.height - height + 1)),
            .left = draws.below(i + 3, static_cast<uint32_t>(size.width - width + 1)),
            .height = height,
            .width = width};
  }
  return {};
}

}  // namespace spire
