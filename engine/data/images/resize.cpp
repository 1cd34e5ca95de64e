#include "engine/data/images/resize.h"

#include <algorithm>
#include <cmath>

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr int fraction_bits = 22;  // of a weight: 255 x 2^22 fits 32 bits
constexpr int32_t half = 1 << (fraction_bits - 1);

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp((sum + half) >> fraction_bits, 0, 255));
}

// Weights of one axis: output pixel i covers source pixels first[i] .. first[i] + taps - 1.
struct Axis {
  int64_t length;        // of the source
  double begin, extent;  // of the box
  int64_t out;
};

void make_weights(const Axis& axis, std::vector<int32_t>& weights, std::vector<int32_t>& first,
                  int64_t& taps) {
  double scale = axis.extent / static_cast<double>(axis.out);
  double spread = std::max(scale, 1.0);
  auto low = std::max<int64_t>(0, static_cast<int64_t>(std::floor(axis.begin)));
  auto high =
      std::min<int64_t>(axis.length, static_cast<int64_t>(std::ceil(axis.begin + axis.extent)));
  taps = std::min<int64_t>(static_cast<int64_t>(std::ceil(spread)) * 2 + 1, high - low);
  weights.assign(static_cast<size_t>(axis.out * taps), 0);
  first.resize(static_cast<size_t>(axis.out));
  for (int64_t i = 0; i < axis.out; ++i) {
    double center = axis.begin + (static_cast<double>(i) + 0.5) * scale;
    auto from = std::clamp(static_cast<int64_t>(std::floor(center - spread + 0.5)), low, high - 1);
    auto to = std::clamp(static_cast<int64_t>(std::floor(center + spread + 0.5)), from + 1, high);
    from = std::min(from, high - taps);
    auto weight = [&](int64_t x) {
      double distance = std::abs(static_cast<double>(x) + 0.5 - center) / spread;
      return distance < 1 ? 1 - distance : 0.0;
    };
    double sum = 0;
    for (int64_t x = from; x < to; ++x) sum += weight(x);
    first[static_cast<size_t>(i)] = static_cast<int32_t>(from);
    for (int64_t x = from; x < to; ++x)
      weights[static_cast<size_t>(i * taps + x - from)] = static_cast<int32_t>(
          std::lround(weight(x) / sum * static_cast<double>(1 << fraction_bits)));
  }
}

// One source row (W, C) -> out (out width, C).
template <int64_t channels>
void shrink_row(const uint8_t* row, const ResizeScratch& scratch, int64_t width, uint8_t* out) {
  const int32_t* weights = scratch.weights[1].data();
  int64_t taps = scratch.taps[1];
  for (int64_t x = 0; x < width; ++x, weights += taps, out += channels) {
    const uint8_t* from = row + scratch.first[1][static_cast<size_t>(x)] * channels;
    int32_t sums[channels] = {};
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < channels; ++c) sums[c] += weights[tap] * from[tap * channels + c];
    for (int64_t c = 0; c < channels; ++c) out[c] = rounded(sums[c]);
  }
}

void shrink_row(int64_t channels, const uint8_t* row, const ResizeScratch& scratch, int64_t width,
                uint8_t* out) {
  switch (channels) {
    case 1:
      return shrink_row<1>(row, scratch, width, out);
    case 2:
      return shrink_row<2>(row, scratch, width, out);
    case 3:
      return shrink_row<3>(row, scratch, width, out);
    default:
      return shrink_row<4>(row, scratch, width, out);
  }
}

}  // namespace

void resize(std::span<const uint8_t> pixels, ImageSize size, int64_t channels, const Box& box,
            ImageSize out_size, uint8_t* out, ResizeScratch& scratch) {
  require(channels >= 1 && channels <= 4, "resize: {} channels", channels);
  require(box.height > 0 && box.width > 0 && out_size.height > 0 && out_size.width > 0,
          "resize: nothing of an image");
  make_weights({size.height, box.top, box.height, out_size.height}, scratch.weights[0],
               scratch.first[0], scratch.taps[0]);
  make_weights({size.width, box.left, box.width, out_size.width}, scratch.weights[1],
               scratch.first[1], scratch.taps[1]);
  int64_t taps = scratch.taps[0];
  int64_t first = scratch.first[0].front(), last = scratch.first[0].back() + taps;
  int64_t out_row = out_size.width * channels;
  scratch.rows.resize(static_cast<size_t>((last - first) * out_row));
  for (int64_t y = first; y < last; ++y)
    shrink_row(channels, pixels.data() + y * size.width * channels, scratch, out_size.width,
               scratch.rows.data() + (y - first) * out_row);

  scratch.sums.resize(static_cast<size_t>(out_row));
  for (int64_t y = 0; y < out_size.height; ++y, out += out_row) {
    std::ranges::fill(scratch.sums, 0);
    const int32_t* weights = scratch.weights[0].data() + y * taps;
    const uint8_t* from =
        scratch.rows.data() + (scratch.first[0][static_cast<size_t>(y)] - first) * out_row;
    for (int64_t tap = 0; tap < taps; ++tap, from += out_row)
      for (int64_t i = 0; i < out_row; ++i)
        scratch.sums[static_cast<size_t>(i)] += weights[tap] * from[i];
    for (int64_t i = 0; i < out_row; ++i) out[i] = rounded(scratch.sums[static_cast<size_t>(i)]);
  }
}

}  // namespace spire::inline data
