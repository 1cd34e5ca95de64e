// RandAugment: changes an image by ops drawn at random, all of one strength. Cubuk et al.,
// "RandAugment: Practical automated data augmentation with a reduced search space", 2020; ops and
// strengths as in torchvision.transforms.RandAugment.
#pragma once
#include <cstdint>
#include <span>
#include <utility>

#include <spire/run_config.h>

#include "engine/data/images/image_formats.h"

namespace spire {

enum class ImageOp {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize
};

inline constexpr uint32_t image_op_count = 14;

// An image (H, W, C) that is changed, and memory of its size for the next version of it.
struct ImageVersions {
  ImageSize size;
  int64_t channels;
  uint8_t *now, *next;

  void renew() { std::swap(now, next); }
  std::span<uint8_t> pixels() const {
    return {now, static_cast<size_t>(size.height * size.width * channels)};
  }
};

// Applies one op to an image of 1 or 3 channels. magnitude: 0 to 30, the strength of most ops.
// negative: turns, shifts, shears the other way, or reduces instead of raising. Translation is by
// up to 150 / 331 of the side, rotation up to 30 degrees, shear up to 0.3, the factor of colors
// from 0.1 to 1.9; solarize inverts from 255 - 8.5 x magnitude on, posterize keeps 8 bits to 4.
void apply(ImageOp op, double magnitude, bool negative, ImageVersions& image);

// Applies config.count ops, a function of (config, seed, epoch, sample) and the image.
void rand_augment(const RandAugmentConfig& config, uint64_t seed, int64_t epoch, int64_t sample,
                  ImageVersions& image);

// Random erasing: a rectangle of an image is blanked. Zhong, Zheng, Kang, Li, Yang: "Random Erasing
// Data Augmentation", 2020.

struct Rectangle {  // in whole pixels
  int64_t top = 0, left = 0, height = 0, width = 0;
};

// Draws a rectangle with a share of the area of min_share to max_share and an aspect ratio of 0.3
// to 3.3, as torchvision.transforms.RandomErasing does: ten attempts to find one that fits. It is
// empty where nothing is erased. A function of all its arguments.
Rectangle erased_rectangle(const EraseConfig& config, ImageSize size, uint64_t seed, int64_t epoch,
                           int64_t sample);

}  // namespace spire
