#include "engine/data/images/warp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <spire/random_stream.h>

namespace spire {
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

}  // namespace spire
