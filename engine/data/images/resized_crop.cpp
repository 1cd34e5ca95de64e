#include "engine/data/images/resized_crop.h"

#include <algorithm>
#include <cmath>

#include <spire/random_stream.h>

#include "engine/base/fail.h"

namespace spire {
namespace {

// Weights are fixed-point numbers of so many fraction bits: 255 x 2^22 fits in 32 bits.
constexpr int fraction_bits = 22;
constexpr int32_t half = 1 << (fraction_bits - 1);

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp((sum + half) >> fraction_bits, 0, 255));
}

// One axis of a resize: `out` pixels from the part [begin, begin + extent) of `length` pixels.
struct Axis {
  int64_t length;
  double begin, extent;
  int64_t out;
};

// Computes the weights of an axis: output pixel i is the sum over tap of weights[i, tap] times
// source pixel first[i] + tap. The filter is a triangle around the pixel's center; its half width
// is one source pixel, or the scale where the image shrinks. Weights of a pixel sum to one, up to
// rounding.
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
    // [from, to): the source pixels under the triangle, cut off at the edges of the box.
    double center = axis.begin + (static_cast<double>(i) + 0.5) * scale;
    auto from = std::clamp(static_cast<int64_t>(std::floor(center - spread + 0.5)), low, high - 1);
    auto to = std::clamp(static_cast<int64_t>(std::floor(center + spread + 0.5)), from + 1, high);
    from = std::min(from, high - taps);  // all taps stay inside; those before the triangle weigh 0
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

// Filters one row along x: (W, C) -> out (out width, C). The channel count is a constant, so that
// the sums stay in registers.
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

constexpr double max_crop_ratio =
    4.0 / 3.0;  // of width to height; the smallest ratio is its inverse

// Returns the largest centered box whose aspect ratio is within the bounds.
Box middle(double height, double width) {
  double w = std::min(width, std::round(height * max_crop_ratio));
  double h = std::min(height, std::round(width * max_crop_ratio));
  return {std::floor((height - h) / 2), std::floor((width - w) / 2), h, w};
}

struct PlacedPart {  // of pixels
  int64_t begin, count;
};

// Returns where an image lies within `out` pixels made of a box that begins at `begin` <= 0 and
// reaches as far beyond it on the other side.
PlacedPart place_within(double begin, double extent, int64_t out) {
  auto pixels = static_cast<double>(out);
  int64_t count = std::clamp<int64_t>(std::lround((extent + 2 * begin) / extent * pixels), 1, out);
  return {(out - count) / 2, count};
}

}  // namespace

void resize(std::span<const uint8_t> pixels, ImageSize size, int64_t channels, const Box& box,
            ImageSize out_size, uint8_t* out, ResizeScratch& scratch, int64_t row_bytes) {
  require(channels >= 1 && channels <= 4, "resize: {} channels", channels);
  require(box.height > 0 && box.width > 0 && out_size.height > 0 && out_size.width > 0,
          "resize: an empty box or result");
  make_weights({size.height, box.top, box.height, out_size.height}, scratch.weights[0],
               scratch.first[0], scratch.taps[0]);
  make_weights({size.width, box.left, box.width, out_size.width}, scratch.weights[1],
               scratch.first[1], scratch.taps[1]);
  // Along x first: each source row under the box, once.
  int64_t taps = scratch.taps[0];
  int64_t first = scratch.first[0].front(), last = scratch.first[0].back() + taps;
  int64_t out_row = out_size.width * channels;
  scratch.rows.resize(static_cast<size_t>((last - first) * out_row));
  for (int64_t y = first; y < last; ++y)
    shrink_row(channels, pixels.data() + y * size.width * channels, scratch, out_size.width,
               scratch.rows.data() + (y - first) * out_row);

  // Then along y: whole rows of weighted sums, which vectorizes over x and C.
  scratch.sums.resize(static_cast<size_t>(out_row));
  int64_t next_row = row_bytes == 0 ? out_row : row_bytes;
  for (int64_t y = 0; y < out_size.height; ++y, out += next_row) {
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

Box random_resized_crop(ImageSize size, double min_scale, uint64_t seed, int64_t epoch,
                        int64_t sample) {
  const RandomStream draws(seed, Purpose::resized_crop, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  // Rejection sampling, as in PyTorch: ten attempts, then the middle. Each attempt has its own four
  // draws, so attempt i is the same whatever happened before.
  constexpr uint64_t attempts = 10, draws_per_attempt = 4;
  for (uint64_t i = 0; i < attempts * draws_per_attempt; i += draws_per_attempt) {
    double area = height * width * (min_scale + (1 - min_scale) * draws.uniform(i));
    double ratio = std::exp(std::log(max_crop_ratio) * (2.0 * draws.uniform(i + 1) - 1));
    auto w = std::lround(std::sqrt(area * ratio)), h = std::lround(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > size.width || h > size.height) continue;
    uint32_t top = draws.below(i + 2, static_cast<uint32_t>(size.height - h + 1));
    uint32_t left = draws.below(i + 3, static_cast<uint32_t>(size.width - w + 1));
    return {static_cast<double>(top), static_cast<double>(left), static_cast<double>(h),
            static_cast<double>(w)};
  }
  return middle(height, width);
}

Box center_crop(ImageSize size, ImageSize out, double share, bool around) {
  auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  auto out_height = static_cast<double>(out.height), out_width = static_cast<double>(out.width);
  // The largest part touches two sides of the image: left and right of a tall one. A box around it
  // touches the other two.
  bool by_width = (height * out_width > width * out_height) != around;
  double h = (by_width ? width * out_height / out_width : height) * share;
  double w = (by_width ? width : height * out_width / out_height) * share;
  return {(height - h) / 2, (width - w) / 2, h, w};
}

Box Cropper::box(ImageSize image, int64_t epoch, int64_t sample) const {
  if (augment_.random_resized_crop)
    return random_resized_crop(image, augment_.min_scale, seed_, epoch, sample);
  switch (framing_.fit) {
    case ImageConfig::Fit::pad:
      return center_crop(image, size_, 1, true);
    case ImageConfig::Fit::squash:
      return {0, 0, static_cast<double>(image.height), static_cast<double>(image.width)};
    default:
      return center_crop(image, size_, framing_.share);
  }
}

int Cropper::reduction(const Box& box) const {
  auto height = static_cast<double>(size_.height), width = static_cast<double>(size_.width);
  for (int reduce : {8, 4, 2})
    if (box.height / reduce >= height && box.width / reduce >= width) return reduce;
  return 1;
}

void Cropper::crop(std::span<const uint8_t> pixels, ImageSize decoded, int64_t channels, Box box,
                   int reduce, uint8_t* out, ResizeScratch& scratch) const {
  double part = 1.0 / reduce;
  Box within = {box.top * part, box.left * part, box.height * part, box.width * part};
  if (box.top >= 0 && box.left >= 0)
    return resize(pixels, decoded, channels, within, size_, out, scratch);
  // The box is around the whole image: its place in the result, in whole pixels, at least one.
  PlacedPart y = place_within(within.top, within.height, size_.height);
  PlacedPart x = place_within(within.left, within.width, size_.width);
  std::fill_n(out, size_.height * size_.width * channels, uint8_t{0});
  Box all = {0, 0, static_cast<double>(decoded.height), static_cast<double>(decoded.width)};
  resize(pixels, decoded, channels, all, {y.count, x.count},
         out + (y.begin * size_.width + x.begin) * channels, scratch, size_.width * channels);
}

void Cropper::crop_labels(std::span<const uint8_t> labels, ImageSize image, const Box& box,
                          uint8_t* out) const {
  auto nearest = [](double begin, double extent, int64_t i, int64_t count, int64_t length) {
    double at = begin + (static_cast<double>(i) + 0.5) * extent / static_cast<double>(count);
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(at)), 0, length - 1);
  };
  for (int64_t y = 0; y < size_.height; ++y) {
    int64_t row = nearest(box.top, box.height, y, size_.height, image.height) * image.width;
    for (int64_t x = 0; x < size_.width; ++x)
      *out++ = labels[static_cast<size_t>(
          row + nearest(box.left, box.width, x, size_.width, image.width))];
  }
}

}  // namespace spire
