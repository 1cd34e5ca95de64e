// How images are turned, by the tag Orientation of Exif 3.0 (CIPA DC-008, 4.6.5), and how viewers
// turn them back.
#pragma once
#include <cstdint>
#include <span>

#include "engine/data/images/image_decode.h"

namespace spire {

// Returns the orientation that a JPEG, PNG, WebP or TIFF file states: 1 (upright) to 8; 1 where it
// states none, or one that does not exist.
int exif_orientation(std::span<const uint8_t> file);

// Size of the upright image: 5 to 8 lie on a side.
ImageSize upright_size(ImageSize stored, int orientation);

// Turns pixels (H, W, channels) upright. size: of the stored pixels, then of the upright ones.
void turn_upright(int orientation, int64_t channels, ImageSize& size, std::vector<uint8_t>& pixels);

}  // namespace spire
