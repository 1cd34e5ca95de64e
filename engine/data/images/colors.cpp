#include "engine/data/images/colors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

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

}  // namespace spire
