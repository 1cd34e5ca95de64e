#include "engine/data/images/rand_augment.h"

#include <cmath>
#include <numbers>

#include <spire/random_stream.h>

#include "engine/data/images/pixel_changes.h"

namespace spire {
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
