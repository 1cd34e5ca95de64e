// Helpers of the targets of image formats.
#pragma once
#include <optional>

#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"
#include "tests/fuzz/fuzz_target.h"

namespace spire::fuzz {

// The size that the header states; nothing where decoding so many pixels would take too long for
// one input. Throws what image_size() throws.
inline std::optional<ImageSize> size_to_decode(std::span<const uint8_t> file) {
  constexpr int64_t max_pixels = 1 << 20;
  ImageSize size = image_size(file);
  require(size.height >= 1 && size.width >= 1 && size.height <= max_image_side &&
              size.width <= max_image_side,
          "a size of {} x {}", size.height, size.width);
  if (size.height * size.width > max_pixels) return {};
  return size;
}

// Decodes a file as it is, and requires as many pixels as its header states.
inline int decode_or_refuse(std::span<const uint8_t> file) {
  return parse_or_refuse(Category::data, [&] {
    auto size = size_to_decode(file);
    if (!size) return;
    RgbImage image;
    decode_image(file, 1, image);
    auto bytes = static_cast<size_t>(3 * size->height * size->width);
    require(image.size == *size && image.pixels.size() == bytes, "{} bytes of pixels, not {}",
            image.pixels.size(), bytes);
  });
}

}  // namespace spire::fuzz
