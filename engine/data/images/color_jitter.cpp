#include "engine/data/images/color_jitter.h"

#include <algorithm>
#include <cmath>

#include "engine/base/philox.h"

namespace spire::inline data {
namespace {

constexpr int64_t one = ColorFactors::one;

// from + (to - from) x factor, rounded.
uint8_t blend(int64_t from, int64_t to, int64_t factor) {
  int64_t value = from * (one - factor) + to * factor + one / 2;
  return static_cast<uint8_t>(std::clamp<int64_t>(value >> 16, 0, 255));
}

int64_t grey_of(const uint8_t* pixel, int64_t channels) {
  if (channels == 1) return pixel[0];
  return (19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + one / 2) >> 16;
}

int64_t mean_grey(int64_t channels, std::span<const uint8_t> pixels) {
  int64_t sum = 0, count = std::ssize(pixels) / channels;
  for (int64_t i = 0; i < count; ++i) sum += grey_of(pixels.data() + i * channels, channels);
  return (sum + count / 2) / count;
}

void blend_all(int64_t from, int64_t factor, std::span<uint8_t> pixels) {
  for (uint8_t& value : pixels) value = blend(from, value, factor);
}

void saturate(int64_t factor, std::span<uint8_t> pixels) {
  for (size_t i = 0; i + 2 < pixels.size(); i += 3) {
    int64_t grey = grey_of(pixels.data() + i, 3);
    for (size_t c = 0; c < 3; ++c) pixels[i + c] = blend(grey, pixels[i + c], factor);
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
  if (factors.contrast != one) blend_all(mean_grey(channels, pixels), factors.contrast, pixels);
  if (factors.saturation != one && channels == 3) saturate(factors.saturation, pixels);
}

}  // namespace spire::inline data
