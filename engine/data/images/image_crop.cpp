#include "engine/data/images/image_crop.h"

#include <algorithm>
#include <cmath>

#include "engine/base/philox.h"

namespace spire::inline data {
namespace {

constexpr double max_ratio = 4.0 / 3.0;  // of width to height; the least is its inverse

// The largest middle part of a ratio within the bounds.
Box middle(double height, double width) {
  double w = std::min(width, std::round(height * max_ratio));
  double h = std::min(height, std::round(width * max_ratio));
  return {std::floor((height - h) / 2), std::floor((width - w) / 2), h, w};
}

}  // namespace

Box random_resized_crop(ImageSize size, double min_scale, uint64_t seed, int64_t epoch,
                        int64_t sample) {
  const RandomStream draws(seed, Purpose::resized_crop, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  constexpr uint64_t attempts = 10, draws_an_attempt = 4;
  for (uint64_t i = 0; i < attempts * draws_an_attempt; i += draws_an_attempt) {
    double area = height * width * (min_scale + (1 - min_scale) * draws.uniform(i));
    double ratio = std::exp(std::log(max_ratio) * (2.0 * draws.uniform(i + 1) - 1));
    auto w = std::lround(std::sqrt(area * ratio)), h = std::lround(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > size.width || h > size.height) continue;
    uint32_t top = draws.below(i + 2, static_cast<uint32_t>(size.height - h + 1));
    uint32_t left = draws.below(i + 3, static_cast<uint32_t>(size.width - w + 1));
    return {static_cast<double>(top), static_cast<double>(left), static_cast<double>(h),
            static_cast<double>(w)};
  }
  return middle(height, width);
}

Box center_crop(ImageSize size, ImageSize out) {
  auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  auto out_height = static_cast<double>(out.height), out_width = static_cast<double>(out.width);
  bool tall = height * out_width > width * out_height;
  double h = (tall ? width * out_height / out_width : height) * 7 / 8;
  double w = (tall ? width : height * out_width / out_height) * 7 / 8;
  return {(height - h) / 2, (width - w) / 2, h, w};
}

Box Cropper::box(ImageSize image, int64_t epoch, int64_t sample) const {
  if (!augment_.random_resized_crop) return center_crop(image, size_);
  return random_resized_crop(image, augment_.min_scale, seed_, epoch, sample);
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
  resize(pixels, decoded, channels, within, size_, out, scratch);
}

}  // namespace spire::inline data
