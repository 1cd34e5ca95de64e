// Affine maps of images: rotation, shear, scaling, translation.
#pragma once
#include <cstdint>
#include <optional>

#include <spire/run_config.h>

#include "engine/data/images/image_decode.h"

namespace spire {

// The parts of a map, applied about a point in this order: shear, rotation, scaling, translation.
struct AffineParts {
  double rotate = 0;                  // degrees, clockwise
  double shear_x = 0, shear_y = 0;    // degrees: rows, columns of pixels are shifted in parallel
  double scale = 1;                   // factor, above 0
  double move_x = 0, move_y = 0;      // pixels, to the right and down
  double center_x = 0, center_y = 0;  // the point, in pixels from the upper left corner
};

// Where output pixels come from, in units of 2^-16 pixels: the middle of output pixel (0, 0) is at
// (x, y) of the input, one to the right at (x + right_x, y + right_y), one down at (x + down_x, y +
// down_y).
struct AffineMap {
  int64_t x, y, right_x, right_y, down_x, down_y;
};

// Returns the inverse of the map, as torchvision.transforms.functional.affine has it.
AffineMap affine_map(const AffineParts& parts);

// Draws the parts, each uniform within its bounds, about the middle of the image.
AffineParts random_affine(const AffineConfig& config, ImageSize size, uint64_t seed, int64_t epoch,
                          int64_t sample);

enum class Interpolation { nearest, bilinear };  // of pixels between input pixels

// Writes the mapped image, `out` (H, W, C), of `from` (H, W, C), which has the value `outside`
// beyond its edges, or without one that of the nearest pixel. Integers give the same pixels on
// every machine.
void warp(const AffineMap& map, ImageSize size, int64_t channels, Interpolation interpolation,
          const uint8_t* from, uint8_t* out, std::optional<uint8_t> outside = 0);

}  // namespace spire
